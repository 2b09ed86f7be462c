package tasks

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

func attach(t testing.TB, s *Store, name string) actors.Member {
	t.Helper()
	m, err := s.members.Attach(t.Context(), name, func() string { return "uuid of " + name })
	return ok(t, m, err)
}

func TestAttach(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	if m := attach(t, s, "ann"); !reflect.DeepEqual(m, actors.Member{Name: "ann", Session: "uuid of ann", Epoch: 1}) {
		t.Errorf("attached %+v", m)
	}
	for range 3 {
		add(t, s, New{})
	}
	claim(t, s, "1", "ann")
	claim(t, s, "2", "bob")
	setStatus(t, s, "2", Completed)
	claim(t, s, "3", "bob")
	drain(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	m, err := s.members.Attach(t.Context(), "ann", func() string { t.Error("asked for a second session"); return "" })
	if ok(t, m, err); m.Epoch != 2 || m.Session != "uuid of ann" {
		t.Errorf("attached again %+v", m)
	}
	if task := get(t, s, "1"); task.Owner != "ann" || task.Status != InProgress || task.Epoch != 2 || task.Version != 3 {
		t.Errorf("its task %+v", task)
	}
	if task := get(t, s, "3"); task.Epoch != 1 {
		t.Errorf("another's task %+v", task)
	}
	events := drain(t, s)
	wantList(t, "events", told(t, events), []string{"updated 1 by "})
	wantList(t, "fields", events[0].Data.(Change).Fields, []string{"epoch"})
	_, err = s.members.Attach(t.Context(), "a\x00b", func() string { return "" })
	wantError(t, err, ErrInvalid)
}

// TestStaleSession: what outlived a restart of its member can change nothing.
func TestStaleSession(t *testing.T) {
	s := open(t, nil)
	old := actors.Actor{Name: "ann", Session: attach(t, s, "ann").Epoch}
	add(t, s, New{})
	task, err := s.Claim(t.Context(), old, "1", Claim{})
	ok(t, task, err)
	now := actors.Actor{Name: "ann", Session: attach(t, s, "ann").Epoch}
	drain(t, s)
	for name, call := range map[string]func(actors.Actor) error{
		"update": func(a actors.Actor) error {
			_, _, err := s.Update(t.Context(), a, "1", Patch{Status: ptr(Completed)})
			return err
		},
		"create":  func(a actors.Actor) error { _, err := s.Create(t.Context(), a, New{Subject: "s"}); return err },
		"claim":   func(a actors.Actor) error { _, err := s.Claim(t.Context(), a, "1", Claim{}); return err },
		"delete":  func(a actors.Actor) error { _, err := s.Delete(t.Context(), a, "1", nil); return err },
		"refuse":  func(a actors.Actor) error { return s.Refuse(t.Context(), a, "1", "") },
		"release": func(a actors.Actor) error { _, err := s.Release(t.Context(), a, "ann", ""); return err },
		"send": func(a actors.Actor) error {
			_, err := s.mail.Send(t.Context(), a, mail.Outgoing{To: []string{"bob"}, Text: "x"})
			return err
		},
	} {
		for _, a := range []actors.Actor{old, {Name: "bob", Session: 1}, {Name: "ann", Session: 3}} {
			if wantError(t, call(a), ErrStale, a.Name); t.Failed() {
				t.Fatal(name)
			}
		}
	}
	wantList(t, "events", told(t, drain(t, s)), []string{})
	_, _, err = s.Update(t.Context(), now, "1", Patch{Epoch: task.Epoch, Status: ptr(Completed)})
	wantError(t, err, ErrStale, "epoch 2, not 1")
	_, _, err = s.Update(t.Context(), now, "1", Patch{Epoch: 2, Status: ptr(Completed)})
	ok(t, 0, err)
}

func TestSetMember(t *testing.T) {
	s := open(t, nil)
	attach(t, s, "bob")
	m := attach(t, s, "ann")
	m.Turn, m.State, m.Reason, m.Session = 7, actors.StateHalted, "a hook said \xff", "another"
	if err := s.members.Set(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	list, err := s.members.List(t.Context())
	want := actors.Member{Name: "ann", Session: "uuid of ann", Epoch: 1, Turn: 7, State: actors.StateHalted, Reason: "a hook said \uFFFD"}
	if ok(t, list, err); len(list) != 2 || !reflect.DeepEqual(list[0], want) || list[1].Name != "bob" {
		t.Errorf("members %+v", list)
	}
	if again := attach(t, s, "ann"); again.Turn != 7 || again.State != actors.StateHalted {
		t.Errorf("attached again %+v", again)
	}
	wantError(t, s.members.Set(t.Context(), m), ErrStale, "session 1 of ann")
	m.Epoch = 0
	if err := s.members.Set(t.Context(), m); err != nil {
		t.Error(err)
	}
	wantError(t, s.members.Set(t.Context(), actors.Member{Name: "cy"}), ErrNotFound, "cy")
	wantError(t, s.members.Set(t.Context(), actors.Member{Name: "ann", Reason: strings.Repeat("x", store.MaxShort+1)}), ErrInvalid)
}

// TestRenew: another conversation takes the place of a member's, and what was granted to the
// member stays its own.
func TestRenew(t *testing.T) {
	s := open(t, nil)
	m := attach(t, s, "ann")
	renew := func(m actors.Member, session string) error { return s.members.Renew(t.Context(), m, session) }
	done := Completed
	for i, session := range []string{"second", "third"} {
		one := add(t, s, New{Subject: "one", Owner: "ann"})
		_, _, err := s.Update(t.Context(), actors.Actor{}, one.ID, Patch{Status: &done})
		if now, found, findErr := s.members.Find(t.Context(), "ann"); err != nil || findErr != nil || !found || !now.Finished {
			t.Errorf("after task %d: %+v, %v, %v", i+1, now, err, findErr)
		}
		if err := renew(m, session); err != nil {
			t.Fatal(err)
		}
	}
	want := actors.Member{Name: "ann", Session: "third", First: "uuid of ann", Epoch: 2}
	again := attach(t, s, "ann")
	if !reflect.DeepEqual(again, want) || again.Life() != m.Life() {
		t.Errorf("attached again %+v, want %+v", again, want)
	}
	wantError(t, renew(m, "fourth"), ErrStale, "session 1 of ann")
	wantError(t, renew(actors.Member{Name: "cy"}, "fourth"), ErrNotFound, "cy")
}

func TestValues(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	value := func(key string) string {
		t.Helper()
		v, found, err := s.Value(t.Context(), key)
		if ok(t, v, err); !found {
			return "none"
		}
		return string(v)
	}
	put := func(key, v string) error { return s.Put(t.Context(), key, json.RawMessage(v)) }
	if have := value("goal"); have != "none" {
		t.Errorf("before: %s", have)
	}
	for _, v := range []string{`"ship it"`, ` { "a" : 1 } `, `null`} {
		if err := put("goal", v); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("other", `{"a":1}`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	if have := value("goal"); have != "null" {
		t.Errorf("goal %s", have)
	}
	if have := value("other"); have != `{"a":1}` {
		t.Errorf("other %s", have)
	}
	for range 2 {
		if err := put("goal", ""); err != nil {
			t.Fatal(err)
		}
	}
	if have := value("goal"); have != "none" {
		t.Errorf("removed: %s", have)
	}
	wantError(t, put("goal", "{"), ErrInvalid, "goal")
	wantError(t, put("", "1"), ErrInvalid)
}

func TestSnapshot(t *testing.T) {
	s := open(t, nil)
	attach(t, s, "ann")
	add(t, s, New{})
	add(t, s, New{BlockedBy: []string{"1"}})
	_, err := s.mail.Send(t.Context(), as("bob"), mail.Outgoing{To: []string{"ann"}, Text: "x"})
	ok(t, 0, err)
	snap, err := s.Snapshot(t.Context())
	ok(t, snap, err)
	wantList(t, "tasks", ids(snap.Tasks), []string{"1", "2"})
	wantList(t, "blocks", snap.Tasks[0].Blocks, []string{"2"})
	if len(snap.Members) != 1 || snap.Members[0].Name != "ann" || snap.Unread["ann"] != 1 {
		t.Errorf("snapshot %+v", snap)
	}
}
