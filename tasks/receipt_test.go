package tasks

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// call is a tool call of a member.
func call(id string) actors.Actor { return actors.Actor{Name: "ann", CallID: id} }

func receipt(t testing.TB, s *Store, id string) (Receipt, bool) {
	t.Helper()
	r, found, err := s.Receipt(t.Context(), "ann", id)
	return ok(t, r, err), found
}

// TestRepeatedCall: each change made twice under one call id happens once, and
// gives the same answer both times, over a restart too.
func TestRepeatedCall(t *testing.T) {
	long := strings.Repeat("d", store.InlineLimit+1)
	ops := []struct {
		name string
		call func(*Store, actors.Actor) (any, error)
	}{
		{"create", func(s *Store, a actors.Actor) (any, error) {
			return s.Create(t.Context(), a, New{Subject: "s", Description: long, Owner: "bob"})
		}},
		{"confirm", func(s *Store, a actors.Actor) (any, error) { return s.Confirm(t.Context(), a, "1") }},
		{"add", func(s *Store, a actors.Actor) (any, error) {
			return s.Add(t.Context(), a, []New{{Key: "x", Subject: "s"}, {Subject: "t", BlockedBy: []string{"x"}}})
		}},
		{"claim", func(s *Store, a actors.Actor) (any, error) { return s.Claim(t.Context(), a, "2", Claim{}) }},
		{"update", func(s *Store, a actors.Actor) (any, error) {
			task, fields, err := s.Update(t.Context(), a, "2", Patch{Subject: ptr("new"), Status: ptr(Completed)})
			return []any{task, fields}, err
		}},
		{"refuse", func(s *Store, a actors.Actor) (any, error) { return nil, s.Refuse(t.Context(), a, "3", "not yet") }},
		{"send", func(s *Store, a actors.Actor) (any, error) {
			return s.mail.Send(t.Context(), a, mail.Outgoing{To: []string{"bob", "cy"}, Text: long})
		}},
		{"delete", func(s *Store, a actors.Actor) (any, error) { return s.Delete(t.Context(), a, "3", nil) }},
		{"release", func(s *Store, a actors.Actor) (any, error) { return s.Release(t.Context(), a, "ann", "bye") }},
	}
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	for _, op := range ops {
		first, err := op.call(s, call(op.name))
		ok(t, first, err)
		happened := len(drain(t, s))
		again, err := op.call(s, call(op.name))
		ok(t, again, err)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path, nil)
		third, err := op.call(s, call(op.name))
		ok(t, third, err)
		if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(first, third) {
			t.Errorf("%s:\n first %.300v\n again %.300v\n third %.300v", op.name, first, again, third)
		}
		if n := len(drain(t, s)); n != 0 || happened == 0 && op.name != "create" && op.name != "release" {
			t.Errorf("%s: %d events at first, %d more", op.name, happened, n)
		}
		if r, found := receipt(t, s, op.name); !found || r.Op != op.name {
			t.Errorf("%s: receipt %+v, %v", op.name, r, found)
		}
	}
	if r, _ := receipt(t, s, "refuse"); r.Error != "not yet" || r.Task.ID != "3" {
		t.Errorf("refuse: %+v", r)
	}
	files, err := os.ReadDir(path + ".blobs")
	if len(ok(t, files, err)) != 2 { // the description and the message; repeated ones are gone
		t.Errorf("%d payload files", len(files))
	}
}

func TestReceiptOfACallWithTwoChanges(t *testing.T) {
	s := open(t, nil)
	task, err := s.Create(t.Context(), call("c"), New{Subject: "s"})
	ok(t, task, err)
	if r, found := receipt(t, s, "c"); !found || r.Op != "create" || r.Task.Status != Proposed {
		t.Errorf("after create: %+v", r)
	}
	if err := s.Discard(t.Context(), call("c"), task.ID, "too vague"); err != nil {
		t.Fatal(err)
	}
	if r, _ := receipt(t, s, "c"); r.Op != "discard" || r.Error != "too vague" || r.Task.ID != "1" {
		t.Errorf("after discard: %+v", r)
	}
	if err := s.Discard(t.Context(), call("c"), task.ID, "too vague"); err != nil {
		t.Errorf("again: %v", err)
	}
	again, err := s.Create(t.Context(), call("c"), New{Subject: "s"})
	if ok(t, again, err).ID != "1" {
		t.Errorf("created again as %s", again.ID)
	}
	if list, err := s.Proposed(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("proposed %v, %v", ids(list), err)
	}
}

func TestReceiptsAreApart(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	for _, a := range []actors.Actor{{Name: "a", CallID: "bc"}, {Name: "ab", CallID: "c"}, {Name: "ab", CallID: "cc"}} {
		_, err := s.mail.Send(t.Context(), a, mail.Outgoing{To: []string{"x"}, Text: a.CallID})
		ok(t, 0, err)
	}
	wantList(t, "mail", unread(t, s, "x"), []string{"text a: bc", "text ab: c", "text ab: cc"})
	if _, found, err := s.Receipt(t.Context(), "a", "b"); found || err != nil {
		t.Errorf("found by the start of its id: %v, %v", found, err)
	}
	if _, found, err := s.Receipt(t.Context(), "", ""); found || err != nil {
		t.Errorf("found nothing's receipt: %v, %v", found, err)
	}
}

// TestRefusalsLeaveNoReceipt: a call that was refused may succeed later.
func TestRefusalsLeaveNoReceipt(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	claim(t, s, "1", "bob")
	if _, err := s.Claim(t.Context(), call("c"), "1", Claim{}); !errors.Is(err, ErrOwned) {
		t.Fatal(err)
	}
	if r, found := receipt(t, s, "c"); found {
		t.Errorf("receipt %+v", r)
	}
	_, err := s.Release(t.Context(), actors.Actor{}, "bob", "")
	ok(t, 0, err)
	task, err := s.Claim(t.Context(), call("c"), "1", Claim{})
	if ok(t, task, err).Owner != "ann" {
		t.Errorf("claimed %+v", task)
	}
}

func TestOldReceiptsAreDropped(t *testing.T) {
	t.Parallel()
	s := open(t, &Options{MaxUnread: 2 * maxReceipts})
	raw(t, s).NoSync = true
	long := strings.Repeat("m", store.InlineLimit+1)
	send := func(a actors.Actor, text string) {
		t.Helper()
		if _, err := s.mail.Send(t.Context(), a, mail.Outgoing{To: []string{"bob"}, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	send(actors.Actor{Name: "cy", CallID: "0"}, "x")
	send(call("0"), long)
	mail, err := s.mail.Unread(t.Context(), "bob")
	ok(t, mail, err)
	if err := s.mail.Deliver(t.Context(), as("bob"), []string{mail[0].ID, mail[1].ID}); err != nil {
		t.Fatal(err)
	}
	drain(t, s)
	if r, found := receipt(t, s, "0"); !found || r.Messages[0].Text != long {
		t.Error("the receipt does not hold the message any more")
	}
	for i := range maxReceipts - 1 {
		send(call(fmt.Sprint(i+1)), "x")
	}
	if _, found := receipt(t, s, "0"); !found {
		t.Error("dropped too early")
	}
	send(call("one more"), "x")
	if _, found := receipt(t, s, "0"); found {
		t.Error("the oldest receipt is still there")
	}
	for _, id := range []string{"1", "one more"} {
		if _, found := receipt(t, s, id); !found {
			t.Errorf("the receipt of call %s is gone", id)
		}
	}
	if _, found, err := s.Receipt(t.Context(), "cy", "0"); !found || err != nil {
		t.Error("another member's receipt is gone")
	}
	if files, err := os.ReadDir(blobDir(t, s)); err != nil || len(files) != 0 {
		t.Errorf("%d payload files are left, %v", len(files), err)
	}
}
