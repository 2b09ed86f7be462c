package tasks

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/mail"
)

func eventIDs(list []Event) []uint64 {
	var out []uint64
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

func TestEvents(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	for range 5 {
		add(t, s, New{})
	}
	page := func(after uint64, limit int, want ...uint64) []Event {
		t.Helper()
		list, err := s.outbox.Events(t.Context(), after, limit)
		have := eventIDs(ok(t, list, err))
		if len(have) != len(want) || len(have) > 0 && (have[0] != want[0] || have[len(have)-1] != want[len(want)-1]) {
			t.Errorf("after %d at most %d: %v, want %v", after, limit, have, want)
		}
		return list
	}
	for _, e := range page(0, 0, 1, 2, 3, 4, 5) {
		if _, ok := e.Data.(Change); !ok || !e.Time.Equal(fixed) || e.Member != "" {
			t.Errorf("event %+v", e)
		}
	}
	page(0, 2, 1, 2)
	page(2, 2, 3, 4)
	page(5, 2)
	page(^uint64(0), 2)
	settle := func(upTo uint64) {
		t.Helper()
		if err := s.outbox.Remove(t.Context(), upTo); err != nil {
			t.Fatal(err)
		}
	}
	settle(2)
	settle(2)
	settle(0)
	page(0, 0, 3, 4, 5)
	settle(99)
	page(0, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	add(t, s, New{})
	page(0, 0, 6) // ids are not reused
}

// TestEventsAreBounded: big events come in several reads, one at least in each.
func TestEventsAreBounded(t *testing.T) {
	s := open(t, nil)
	big := strings.Repeat("z", eventsMaxBytes*2/3)
	for range 3 {
		_, err := s.mail.Send(t.Context(), as("ann"), mail.Outgoing{To: []string{"bob"}, Text: big})
		ok(t, 0, err)
	}
	reads := 0
	for after := uint64(0); ; reads++ {
		list, err := s.outbox.Events(t.Context(), after, 0)
		if len(ok(t, list, err)) == 0 {
			break
		}
		if len(list) > 2 {
			t.Errorf("%d big events at once", len(list))
		}
		after = list[len(list)-1].ID
	}
	if reads != 2 {
		t.Errorf("%d reads", reads)
	}
}

// TestEventsAreDecodedOnce: who reads an event after another gets what that got, and little is kept for it.
func TestEventsAreDecodedOnce(t *testing.T) {
	s := open(t, nil)
	for range keptEvents + 5 {
		add(t, s, New{Labels: []string{"go"}})
	}
	read := func() []Event {
		t.Helper()
		list, err := s.outbox.Events(t.Context(), 0, 0)
		return ok(t, list, err)
	}
	label := func(e Event) *string { return &e.Data.(Change).Task.Labels[0] }
	first, second := read(), read()
	if len(first) != keptEvents+5 || !reflect.DeepEqual(first, second) || label(first[0]) != label(second[0]) {
		t.Errorf("%d events, then %d", len(first), len(second))
	}
	if n := len(s.outbox.decoded); n != keptEvents {
		t.Errorf("%d events are kept", n)
	}
	if err := s.outbox.Remove(t.Context(), first[0].ID); err != nil {
		t.Fatal(err)
	}
	if rest := read(); len(s.outbox.decoded) != keptEvents || !reflect.DeepEqual(rest, first[1:]) {
		t.Errorf("%d events are kept of %d", len(s.outbox.decoded), len(rest))
	}
}

func TestTaskChangeData(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: "Add it", Description: "all of it", Owner: "ann"})
	list, err := s.outbox.Events(t.Context(), 0, 1)
	encoded, err := json.Marshal(ok(t, list, err)[0].Data)
	data := string(ok(t, encoded, err))
	want := `{"op":"created","task":{"id":"1","subject":"Add it","description":"all of it","status":"pending",` +
		`"owner":"ann","epoch":0,"version":1,"blocks":[],"blockedBy":[],"labels":[],"metadata":{},` +
		`"created":"2026-11-21T10:00:00Z","updated":"2026-11-21T10:00:00Z"},"by":""}`
	if data != want {
		t.Errorf("data\n %s, want\n %s", data, want)
	}
}
