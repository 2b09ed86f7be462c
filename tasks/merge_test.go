package tasks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"

	"pgregory.net/rapid"
)

// work is a merge as it begins.
func work(branch, commit string) Merge {
	return Merge{
		Branch: branch, Commit: commit, From: "c0", Into: "main", Member: "ana", Tasks: []string{"1"},
		Title: "the work", State: MergeQueued,
	}
}

// propose makes a merge.
func propose(t testing.TB, s *Store, m Merge) Merge {
	t.Helper()
	made, err := s.Merges().Propose(t.Context(), actors.Actor{}, m)
	return ok(t, made, err)
}

// move changes a merge's state.
func move(t testing.TB, s *Store, m Merge, state MergeState) Merge {
	t.Helper()
	m.State = state
	if state == MergeLanding {
		m.Base, m.Result = "b", "r"
	}
	moved, err := s.Merges().Move(t.Context(), actors.Actor{}, m, nil)
	return ok(t, moved, err)
}

func TestMergeOfABranch(t *testing.T) {
	s := open(t, nil)
	first := propose(t, s, work("covey/t/task-1", "c1"))
	if first.ID != "1" || first.Version != 1 || first.Created != fixed {
		t.Errorf("%+v", first)
	}
	if again := propose(t, s, work("covey/t/task-1", "c1")); again.Version != 1 {
		t.Errorf("the same commit once more: %+v", again)
	}
	returned := move(t, s, move(t, s, first, MergeTesting), MergeReturned)
	more := work("covey/t/task-1", "c2")
	more.Tasks = []string{"2", "1"}
	next := propose(t, s, more)
	if next.ID != "1" || next.Commit != "c2" || next.State != MergeQueued || len(next.Tasks) != 2 {
		t.Errorf("a further commit: %+v", next)
	}
	_, err := s.Merges().Move(t.Context(), actors.Actor{}, returned, nil)
	wantError(t, err, ErrConflict, "version")
	done := move(t, s, move(t, s, move(t, s, next, MergeTesting), MergeLanding), MergeDone)
	if after := propose(t, s, work("covey/t/task-1", "c3")); after.ID != "2" {
		t.Errorf("once it is over, work is another merge: %+v", after)
	}
	_, err = s.Merges().Move(t.Context(), actors.Actor{}, done, nil)
	wantError(t, err, ErrTransition, "merged")
}

func TestMergeSteps(t *testing.T) {
	for _, tc := range []struct {
		from, to MergeState
		want     bool
	}{
		{MergeWaiting, MergeQueued, true},
		{MergeQueued, MergeTesting, true},
		{MergeTesting, MergeLanding, true},
		{MergeTesting, MergeQueued, true}, // the branch moved meanwhile
		{MergeLanding, MergeDone, true},
		{MergeLanding, MergeHeld, true},
		{MergeTesting, MergeDone, true}, // its branch is found to hold it
		{MergeReturned, MergeQueued, true},
		{MergeReady, MergeDone, true},
		{MergeQueued, MergeLanding, false}, // not tested
		{MergeHeld, MergeLanding, false},
		{MergeWaiting, MergeTesting, false},
		{MergeDone, MergeQueued, false},
		{MergeDropped, MergeWaiting, false},
		{MergeQueued, "other", false},
	} {
		if got := tc.from.becomes(tc.to); got != tc.want {
			t.Errorf("%s to %s: %v", tc.from, tc.to, got)
		}
	}
}

// What goes back to an author is one change: the state, the author's task with
// its mail, and a word to the lead. None of it can be without the others.
func TestMergeGoesBackToItsAuthor(t *testing.T) {
	s := open(t, nil)
	m := move(t, s, propose(t, s, work("covey/t/task-1", "c1")), MergeTesting)
	m.State, m.Reason, m.Files = MergeReturned, "conflict", []string{"a.go"}
	m, err := s.Merges().Move(t.Context(), actors.Actor{}, m, &New{
		Subject: "Resolve it", Owner: "ana", Description: strings.Repeat("x", 100_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	fix := get(t, s, m.Fix)
	if fix.Owner != "ana" || len(fix.Description) != 100_000 {
		t.Errorf("%+v", fix)
	}
	for member, kind := range map[string]mail.Kind{"ana": mail.TaskAssignment} {
		mail, err := s.mail.Unread(t.Context(), member)
		if err != nil || len(mail) != 1 || mail[0].Kind != kind {
			t.Errorf("mail of %s: %+v, %v", member, mail, err)
		}
	}
	stale := m
	stale.Version--
	_, err = s.Merges().Move(t.Context(), actors.Actor{}, stale, &New{Subject: "again", Owner: "ana"})
	wantError(t, err, ErrConflict)
	if all := ok1(t)(s.List(t.Context())); len(all) != 1 {
		t.Errorf("a change that was refused has made a task: %v", ids(all))
	}
}

func TestMergeIsTold(t *testing.T) {
	s := open(t, nil)
	move(t, s, propose(t, s, work("b", "c")), MergeDropped)
	events, err := s.outbox.Events(t.Context(), 0, 0)
	if err != nil || len(events) != 2 {
		t.Fatalf("%+v, %v", events, err)
	}
	if m, ok := events[1].Data.(Merge); !ok || m.State != MergeDropped || m.Branch != "b" {
		t.Errorf("%+v", events[1].Data)
	}
}

func TestMergesThatCannotBe(t *testing.T) {
	s := open(t, nil)
	for name, change := range map[string]func(*Merge){
		"no branch":     func(m *Merge) { m.Branch = "" },
		"no target":     func(m *Merge) { m.Into = "" },
		"no such state": func(m *Merge) { m.State = "odd" },
		"begins merged": func(m *Merge) { m.State = MergeDone },
	} {
		m := work("b", "c")
		change(&m)
		if _, err := s.Merges().Propose(t.Context(), actors.Actor{}, m); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	m := work("b", "c")
	m.ID, m.Version = "7", 1
	_, err := s.Merges().Move(t.Context(), actors.Actor{}, m, nil)
	wantError(t, err, ErrNotFound)
}

func TestMergesAreBounded(t *testing.T) {
	s := open(t, nil)
	propose(t, s, work("kept", "c"))
	dropped := work("b", "c")
	for i := range 20 {
		dropped.Branch = fmt.Sprintf("b%d", i)
		move(t, s, propose(t, s, dropped), MergeDropped)
	}
	known, err := s.Merges().List(t.Context())
	for _, m := range ok(t, known, err) {
		if err := s.Put(t.Context(), m.TrialKey(), json.RawMessage("1")); err != nil {
			t.Fatal(err)
		}
	}
	// The numbers of a thousand merges are given out; to make those would read all of them each time.
	_, err = submit(t.Context(), s.db.Job("give out numbers"), func(t *store.Tx) (int, error) {
		t.Raise(store.MergeCounter, maxMerges+10)
		return 0, nil
	})
	ok(t, 0, err)
	last := propose(t, s, work("last", "c"))
	want := []string{"1"} // it is not over
	for n := 12; n <= 21; n++ {
		want = append(want, store.FormatID(uint64(n)))
	}
	var got []string
	list, err := s.Merges().List(t.Context())
	for _, m := range ok(t, list, err) {
		got = append(got, m.ID)
	}
	wantList(t, "merges", got, append(want, last.ID))
	got = nil
	for _, m := range known {
		if _, there, err := s.Value(t.Context(), m.TrialKey()); ok(t, there, err) {
			got = append(got, m.ID)
		}
	}
	wantList(t, "trials", got, want)
}

// Whatever is proposed and moved, a branch has one merge that is not over, no
// merge is over twice, and versions only rise.
func TestMergesKeepTheirPromises(t *testing.T) {
	states := []MergeState{
		MergeWaiting, MergeQueued, MergeTesting, MergeLanding, MergeHeld, MergeReturned, MergeReady,
		MergeDone, MergeDropped,
	}
	rapid.Check(t, func(r *rapid.T) {
		s := open(t, &Options{BlobDir: t.TempDir()})
		raw(t, s).NoSync = true
		versions := map[string]uint64{}
		over := map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			branch := rapid.SampledFrom([]string{"x", "y"}).Draw(r, "branch")
			if rapid.Bool().Draw(r, "propose") {
				propose(t, s, work(branch, rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "commit")))
				continue
			}
			list, err := s.Merges().List(t.Context())
			if err != nil {
				r.Fatal(err)
			}
			if len(list) == 0 {
				continue
			}
			m := rapid.SampledFrom(list).Draw(r, "merge")
			m.State, m.Base, m.Result = rapid.SampledFrom(states).Draw(r, "state"), "b", "r"
			moved, err := s.Merges().Move(t.Context(), actors.Actor{}, m, nil)
			if err != nil {
				continue
			}
			if over[m.ID] || moved.Version <= versions[m.ID] {
				r.Fatalf("%+v after version %d, over %v", moved, versions[m.ID], over[m.ID])
			}
			versions[m.ID], over[m.ID] = moved.Version, moved.State.Over()
		}
		if err := s.Check(t.Context()); err != nil {
			r.Fatal(err)
		}
	})
}
