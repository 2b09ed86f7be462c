package tasks

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestRequestIDs: requests are numbered as they are made, over restarts, and no number is
// given twice.
func TestRequestIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	var ids []string
	ask := func(s *Store) requests.Request {
		t.Helper()
		r, err := s.requests.Ask(t.Context(), actors.Actor{Name: "dev"}, requests.New{Kind: requests.AskPermission, Member: "dev", To: actors.Operator, Text: "may I?"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
		return r
	}
	for range 4 {
		s, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			ask(s)
		}
		if _, err := s.requests.Withdraw(t.Context(), actors.Actor{}, ids[len(ids)-1], ""); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Check(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(ids, " "); got != "r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12" {
		t.Errorf("the ids are %s", got)
	}
	s, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := s.requests.List(t.Context())
	if err != nil || !slices.EqualFunc(all, ids, func(r requests.Request, id string) bool { return r.ID == id }) {
		t.Errorf("in the order %+v (%v)", all, err)
	}
	if r, err := s.requests.Find(t.Context(), "R10"); err != nil || r.ID != "r10" {
		t.Errorf("R10 is %q (%v)", r.ID, err)
	}
	if _, err := s.requests.Find(t.Context(), "r99"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "r99") {
		t.Errorf("r99: %v", err)
	}
}

// TestRefillKeepsRequestNumbers: a request that the store has lost keeps its number, for
// its id stands in mail and journals.
func TestRefillKeepsRequestNumbers(t *testing.T) {
	s := open(t, nil)
	lost := Event{ID: 40, Data: requests.Request{ID: "r7", Member: "dev", Kind: requests.AskPermission}}
	if _, err := s.outbox.Refill(t.Context(), []Event{lost}); err != nil {
		t.Fatal(err)
	}
	r, err := s.requests.Ask(t.Context(), actors.Actor{Name: "dev"}, requests.New{Kind: requests.AskPermission, Member: "dev", To: actors.Operator, Text: "may I?"})
	if err != nil || r.ID != "r8" {
		t.Errorf("asked as %q (%v)", r.ID, err)
	}
}
