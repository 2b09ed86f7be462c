package tasks

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"

	"github.com/oklog/ulid/v2"
)

func TestSend(t *testing.T) {
	s := open(t, nil)
	list, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{
		To: []string{"bob", "cy", "bob"}, Text: "The schema\n is ready.", Data: json.RawMessage(`{"n": 1}`),
	})
	if len(ok(t, list, err)) != 2 {
		t.Fatalf("sent %+v", list)
	}
	for i, m := range list {
		id, err := ulid.ParseStrict(m.ID)
		ok(t, id, err)
		if !ulid.Time(id.Time()).Equal(fixed) || m.Seq != uint64(i+1) || m.From != "ann" || m.Kind != mail.Text ||
			m.Summary != "The schema is ready." || string(m.Data) != `{"n":1}` || !m.Sent.Equal(fixed) {
			t.Errorf("sent %+v", m)
		}
	}
	if list[0].ID == list[1].ID || list[0].To != "bob" || list[1].To != "cy" {
		t.Errorf("sent %+v", list)
	}
	_, err = s.mail.Send(t.Context(), actors.Actor{}, mail.Outgoing{To: []string{"bob"}, Kind: mail.Notice, Text: "x", Summary: "short"})
	ok(t, 0, err)
	wantList(t, "mail", unread(t, s, "bob"), []string{"text ann: The schema\n is ready.", "notice : x"})
	events := drain(t, s)
	wantList(t, "events", told(t, events), []string{"text ann>bob", "text ann>cy", "notice >bob"})
	m := events[2].Data.(mail.Message)
	if m.From != "" || m.To != "bob" || m.Kind != mail.Notice || m.Text != "x" || m.Summary != "short" || !strings.HasPrefix(m.ID, "0") {
		t.Errorf("event data %+v", m)
	}
}

func TestSendRefusals(t *testing.T) {
	s := open(t, &Options{MaxUnread: 2})
	many := make([]string, store.MaxList+1)
	for i := range many {
		many[i] = strings.Repeat("x", i%100+1) + string(rune('a'+i/100))
	}
	for name, o := range map[string]mail.Outgoing{
		"to nobody":     {Text: "x"},
		"to no name":    {To: []string{"bob", ""}},
		"to a bad name": {To: []string{"a\x00b"}},
		"to too many":   {To: many},
		"bad data":      {To: []string{"bob"}, Data: json.RawMessage("{")},
		"bad kind":      {To: []string{"bob"}, Kind: "a\nb"},
		"long summary":  {To: []string{"bob"}, Summary: strings.Repeat("x", store.MaxShort+1)},
	} {
		_, err := s.mail.Send(t.Context(), as("ann"), o)
		if wantError(t, err, ErrInvalid); err == nil {
			t.Error(name)
		}
	}
	for range 2 {
		_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "x"})
		ok(t, 0, err)
	}
	_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"cy", "bob"}, Text: "x"})
	wantError(t, err, ErrFull, "bob has 2 unread messages")
	wantList(t, "cy's mail", unread(t, s, "cy"), []string{}) // all or none
	add(t, s, New{Owner: "bob", Subject: "urgent"})
	if n := len(unread(t, s, "bob")); n != 3 {
		t.Errorf("%d messages: an assignment is never refused", n)
	}
	snap, err := s.Snapshot(t.Context())
	if ok(t, snap, err); snap.Unread["bob"] != 3 || len(snap.Unread) != 1 {
		t.Errorf("unread %v", snap.Unread)
	}
}

func TestDeliver(t *testing.T) {
	s := open(t, nil)
	var sent []string
	for _, text := range []string{"1", "2", "3", "4"} {
		list, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: text})
		sent = append(sent, ok(t, list, err)[0].ID)
	}
	drain(t, s)
	deliver := func(member string, ids ...string) {
		t.Helper()
		if err := s.mail.Deliver(t.Context(), as(member), ids); err != nil {
			t.Fatal(err)
		}
	}
	deliver("bob", sent[2], sent[0], sent[2])
	deliver("bob", sent[0])
	deliver("bob")
	deliver("cy", sent[1]) // not cy's: nothing happens
	deliver("bob", "no such id", "")
	wantList(t, "left", unread(t, s, "bob"), []string{"text ann: 2", "text ann: 4"})
	events := drain(t, s)
	wantList(t, "events", told(t, events), []string{"delivered to bob", "delivered to bob"})
	if d := events[0].Data.(Delivery); d.ID != sent[2] {
		t.Errorf("delivered %s", d.ID)
	}
	wantError(t, s.mail.Deliver(t.Context(), as(""), nil), ErrInvalid)
	deliver("bob", sent...)
	snap, err := s.Snapshot(t.Context())
	if ok(t, snap, err); len(snap.Unread) != 0 {
		t.Errorf("unread %v", snap.Unread)
	}
}

// TestMailKeepsItsOrder over restarts, with the names of others in between.
func TestMailKeepsItsOrder(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	var want []string
	for round := range 3 {
		s := openAt(t, path, nil)
		raw(t, s).NoSync = true
		for i := range 300 {
			text := strings.Repeat("x", round*300+i+1)
			_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bo", "bob", "bobby"}, Text: text})
			ok(t, 0, err)
			want = append(want, "text ann: "+text)
		}
		wantList(t, "mail", unread(t, s, "bob"), want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMessageIsRepaired(t *testing.T) {
	s := open(t, nil)
	list, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "a\xff\x00b", Summary: "c\xff"})
	if m := ok(t, list, err)[0]; m.Text != "a\uFFFD\uFFFDb" || m.Summary != "c\uFFFD" {
		t.Errorf("sent %+v", m)
	}
	if mail := unread(t, s, "bob"); mail[0] != "text ann: a\uFFFD\uFFFDb" {
		t.Errorf("mail %q", mail)
	}
}

// TestDeliverOfAnEarlierLife: what a life of a member confirms that is over, stays unread
// for the one that goes on; its notes stay as well.
func TestDeliverOfAnEarlierLife(t *testing.T) {
	s := open(t, nil)
	session := func() string { return "a-session" }
	first, err := s.members.Attach(t.Context(), "ann", session)
	ok(t, first, err)
	sent, err := s.mail.Send(t.Context(), as("bob"), mail.Outgoing{To: []string{"ann"}, Text: "hello"})
	ok(t, sent, err)
	testkit.Must(t, s.mail.PutNote(t.Context(), "ann", mail.Note{IdleNote: mail.IdleNote{From: "bob"}}))
	notes, err := s.mail.Notes(t.Context(), "ann")
	ok(t, notes, err)
	second, err := s.members.Attach(t.Context(), "ann", session)
	ok(t, second, err)
	old, now := actors.Actor{Name: "ann", Session: first.Epoch}, actors.Actor{Name: "ann", Session: second.Epoch}
	wantError(t, s.mail.Deliver(t.Context(), old, []string{sent[0].ID}), ErrStale)
	wantError(t, s.mail.DropNotes(t.Context(), old, []string{notes[0].ID}), ErrStale)
	wantList(t, "mail", unread(t, s, "ann"), []string{"text bob: hello"})
	testkit.Must(t, s.mail.DropNotes(t.Context(), now, []string{notes[0].ID}))
	testkit.Must(t, s.mail.Deliver(t.Context(), now, []string{sent[0].ID}))
	wantList(t, "mail", unread(t, s, "ann"), nil)
	if notes, err = s.mail.Notes(t.Context(), "ann"); err != nil || len(notes) != 0 {
		t.Errorf("notes %v, %v", notes, err)
	}
}

// A message knows which tasks it waits for, in each mailbox and over a restart. One for
// tasks that are not there, or no more, reaches nobody.
func TestSendWaitsFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openAt(t, path, nil)
	one, two := add(t, s, New{Subject: "one"}), add(t, s, New{Subject: "two"})
	gone := add(t, s, New{Subject: "gone"})
	_, err := s.Delete(t.Context(), actors.Actor{}, gone.ID, nil)
	ok(t, gone, err)
	for _, id := range []string{gone.ID, "9", "01", ""} {
		_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: "x", WaitFor: []string{one.ID, id}})
		wantError(t, err, ErrNotFound)
	}
	_, err = s.mail.Send(t.Context(), as("ann"), mail.Outgoing{
		To: []string{"bob", "cy"}, Text: "join", WaitFor: []string{one.ID, two.ID, one.ID},
	})
	ok(t, one, err)
	ok(t, s, s.Close())
	s = openAt(t, path, nil)
	for _, name := range []string{"bob", "cy"} {
		mail, err := s.mail.Unread(t.Context(), name)
		if ok(t, mail, err); len(mail) != 1 || !slices.Equal(mail[0].WaitFor, []string{one.ID, two.ID}) {
			t.Errorf("%s has %+v", name, mail)
		}
	}
}
