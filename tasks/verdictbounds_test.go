package tasks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
)

// TestVerdictEdges: names as long as can be are keys, and one byte more is refused with
// the name of what is too long; texts at the edge of a file of their own come back whole.
func TestVerdictEdges(t *testing.T) {
	s := open(t, nil)
	most, over := strings.Repeat("k", store.MaxName), strings.Repeat("k", store.MaxName+1)
	for what, key := range map[string]requests.VerdictKey{
		"tree":    {Tree: over, Gate: "g", Subject: "1"},
		"gate":    {Tree: "t", Gate: over, Subject: "1"},
		"subject": {Tree: "t", Gate: "g", Subject: over},
	} {
		wantError(t, s.verdicts.Add(t.Context(), requests.Verdict{VerdictKey: key}), ErrInvalid, what, fmt.Sprint(store.MaxName))
	}
	for i, n := range []int{0, 1, store.InlineLimit, store.InlineLimit + 1} {
		key := requests.VerdictKey{Tree: most, Gate: fmt.Sprint(i) + most[1:], Subject: most}
		v := requests.Verdict{VerdictKey: key, Feedback: strings.Repeat("f", n), Log: strings.Repeat("l", n)}
		if err := s.verdicts.Add(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		got, found, err := s.verdicts.Find(t.Context(), key)
		if err != nil || !found || got.Feedback != v.Feedback || got.Log != v.Log {
			t.Errorf("texts of %d bytes: %d and %d, %v, %v", n, len(got.Feedback), len(got.Log), found, err)
		}
	}
}

// TestRefillOfNothing: events that say too little, or nothing that can be read, are
// counted and harm nobody, and those of the past are passed over.
func TestRefillOfNothing(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: "here"})
	last, err := s.outbox.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	odd := []Event{
		{ID: last + 3, Data: Change{Op: Created, Task: Task{ID: "x", Status: Pending}}},
		{ID: last + 1, Data: Change{}},
		{ID: last + 2, Data: mail.Message{}},
		{ID: last + 4, Data: Delivery{}},
		{ID: last + 5},
		{ID: last + 6, Data: Merge{ID: "3", Branch: "ann"}},
		{ID: last + 7, Data: requests.Request{ID: "R1", Kind: requests.AskPlan, Member: "ann"}},
		{ID: last + 8, Data: Merge{ID: "3", Branch: "ann"}},
		{ID: last, Data: Change{Op: Deleted, Task: Task{ID: "1", Status: Pending}}},
	}
	got, err := s.outbox.Refill(t.Context(), odd)
	if err != nil || len(got.Unknown) != 7 || got.Messages != 0 || len(got.Tasks) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	wantList(t, "lost", got.Unknown[5:], []string{"merge 3 of ann", "request R1 of ann (plan)"})
	if now, err := s.outbox.LastEvent(t.Context()); now != last+8 || err != nil {
		t.Errorf("the last event is %d, want %d: %v", now, last+8, err)
	}
	wantList(t, "tasks", ids(ok1(t)(s.List(t.Context()))), []string{"1"})
	if odd[0].ID != last+3 {
		t.Error("the caller's list was put in order")
	}
}
