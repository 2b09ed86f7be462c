//go:build unix

package replica_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// TestClaims measures claims by 100 callers, two for each task, on a plain store and on a replicated
// one in turn. It fails only if no claim is made, because a busy machine says little about speed.
func TestClaims(t *testing.T) {
	trial := startServers(t)
	h := newHost(t, trial)
	h.up(false)
	plain, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), &tasks.Options{Backups: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	var took [2]time.Duration
	const rounds, callers, each = 3, 100, 10
	for range rounds {
		for i, s := range []*tasks.Store{plain, h.Store} {
			took[i] += claims(t, s, callers, each)
		}
	}
	n := float64(rounds * callers * each / 2)
	t.Logf("claims a second: plain %.0f, replicated %.0f, ratio %.2f", n/took[0].Seconds(), n/took[1].Seconds(),
		took[0].Seconds()/took[1].Seconds())
}

// claims lets pairs of callers claim tasks of their own, and returns how long that took.
func claims(t *testing.T, s *tasks.Store, callers, each int) time.Duration {
	t.Helper()
	var list []tasks.New
	for i := range callers / 2 * each {
		list = append(list, tasks.New{Subject: fmt.Sprint(i)})
	}
	made, err := s.Add(t.Context(), actors.Actor{}, list)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				task := made[caller/2*each+i]
				_, _ = s.Claim(t.Context(), actors.Actor{Name: fmt.Sprint("member", caller)}, task.ID, tasks.Claim{}) // one of the two wins
			}
		})
	}
	all.Wait()
	took := time.Since(begun)
	now, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range now {
		if task.Owner == "" {
			t.Errorf("nobody has won task %s", task.ID)
		}
	}
	return took
}

// taskCount is how many tasks the team of TestTakeoverOfMany has.
var taskCount = flag.Int("tasks", 500, "how many tasks the team of TestTakeoverOfMany has")

// TestTakeoverOfMany: another host continues a team of many tasks, none of which is in a snapshot, with little
// work of its own: of the time that docs/cluster.md promises, the rest is silence, election and waiting.
func TestTakeoverOfMany(t *testing.T) {
	p := startProcesses(t)
	a, b := newHost(t, p.trial), newHost(t, p.trial)
	p.until("a coordinator", func() error { return a.takeOver(false) })
	const callers = 100
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range *taskCount / callers {
				if err := a.add(fmt.Sprintf("%d.%d", caller, i), "A description."); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	spent, begun := processorTime(t), time.Now()
	b.up(false)
	spent = processorTime(t) - spent
	t.Logf("%d tasks: %s of the processor, in %s", *taskCount, spent, time.Since(begun))
	if have := len(b.subjects()); have != *taskCount {
		t.Errorf("the other host has %d tasks", have)
	}
	if spent > 5*time.Second {
		t.Errorf("a takeover of %d tasks took %s of the processor", *taskCount, spent)
	}
}

// processorTime returns what this process has used of processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
