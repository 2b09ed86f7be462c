package tasks

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

func lapsed(t testing.TB, s *Store) []string {
	t.Helper()
	names, err := s.members.Lapsed(t.Context())
	return ok(t, names, err)
}

// TestLease: a lease lasts as long as what holds it, and not longer.
func TestLease(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	for range 4 {
		add(t, s, New{})
	}
	for _, name := range []string{"ann", "bob", "idle"} {
		attach(t, s, name)
	}
	claim(t, s, "1", "ann")
	claim(t, s, "2", "ann")
	claim(t, s, "3", "bob")
	claim(t, s, "4", "stranger")
	wantList(t, "while they run", lapsed(t, s), []string{"stranger"})
	s.members.Detach("bob")
	wantList(t, "when bob is gone", lapsed(t, s), []string{"bob", "stranger"})
	attach(t, s, "bob")
	closed(t, s)
	s = openAt(t, path, nil)
	wantList(t, "after a restart", lapsed(t, s), []string{"ann", "bob", "stranger"})
	attach(t, s, "ann")
	attach(t, s, "idle")
	wantList(t, "when ann is back", lapsed(t, s), []string{"bob", "stranger"})
	if task := get(t, s, "1"); task.Owner != "ann" || task.Status != InProgress {
		t.Errorf("her task: %+v", task)
	}
	_, err := s.Release(t.Context(), actors.Actor{}, "bob", "gone")
	ok(t, 0, err)
	wantList(t, "when bob's task is released", lapsed(t, s), []string{"stranger"})
}

// TestSilenceIsNoDeath: neither hours nor a clock that jumps end a lease, and the member
// may still complete its task (ADVERSARIAL.md 20, 21).
func TestSilenceIsNoDeath(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	synctest.Test(t, func(t *testing.T) {
		jump := time.Duration(0)
		s, err := Open(path, &Options{Now: func() time.Time { return time.Now().Add(jump) }})
		ok(t, s, err)
		defer s.Close()
		add(t, s, New{})
		ann := actors.Actor{Name: "ann", Session: attach(t, s, "ann").Epoch}
		task, err := s.Claim(t.Context(), ann, "1", Claim{})
		ok(t, task, err)
		for _, by := range []time.Duration{365 * 24 * time.Hour, -24 * time.Hour, 0} {
			jump = by
			time.Sleep(time.Hour)
			wantList(t, "lapsed", lapsed(t, s), nil)
		}
		done, _, err := s.Update(t.Context(), ann, "1", Patch{Epoch: task.Epoch, Status: ptr(Completed)})
		if ok(t, done, err); done.Status != Completed {
			t.Errorf("%+v", done)
		}
	})
}

// TestTenThousandTasks: a long list with long chains is read, and a cycle in it found,
// within a second (ADVERSARIAL.md 26).
func TestTenThousandTasks(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	list := make([]New, 10_000)
	for i := range list {
		list[i] = New{Subject: "s", Key: store.FormatID(uint64(i + 1))}
		if i > 0 {
			list[i].BlockedBy = []string{store.FormatID(uint64(i))}
		}
	}
	added, err := s.Add(t.Context(), actors.Actor{}, list)
	ok(t, added, err)
	start := time.Now()
	all, err := s.List(t.Context())
	if ok(t, all, err); len(all) != len(list) {
		t.Errorf("%d tasks", len(all))
	}
	listed := time.Since(start)
	start = time.Now()
	_, _, err = s.Update(t.Context(), as("ann"), "1", Patch{AddBlockedBy: []string{"10000"}})
	wantError(t, err, ErrCycle, "blocks")
	_, _, err = s.Update(t.Context(), as("ann"), "7", Patch{AddBlocks: []string{"7"}})
	wantError(t, err, ErrCycle, "task 7 blocks 7")
	t.Logf("listed in %v, two cycles found in %v", listed, time.Since(start))
	if found := time.Since(start); listed > time.Minute || found > time.Minute { // without an index it takes longer
		t.Errorf("listed in %v, cycles found in %v", listed, found)
	}
}
