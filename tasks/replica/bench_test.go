//go:build unix

package replica_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// leastClaims is below which part of a plain store's claims TestClaims fails; .ci/long sets 0.8.
var leastClaims = flag.Float64("claims", 0, "which part of a plain store's claims TestClaims wants of a replicated one")

// TestClaims compares claims by 100 callers, two for each task, on a plain store and on a replicated one in
// turn. The median of the rounds counts, because a busy machine says little about speed.
func TestClaims(t *testing.T) {
	trial := startServers(t)
	h := newHost(t, trial)
	h.up(false)
	plain, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), &tasks.Options{Backups: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	rounds := 3
	if *leastClaims > 0 {
		rounds = 31
	}
	var ratios []float64
	for range rounds {
		const callers, each = 100, 10
		alone, replicated := claims(t, plain, callers, each), claims(t, h.Store, callers, each)
		ratios = append(ratios, alone.Seconds()/replicated.Seconds())
	}
	slices.Sort(ratios)
	t.Logf("claims of a replicated store, beside a plain one: %.2f, in rounds from %.2f to %.2f", ratios[rounds/2], ratios[0], ratios[rounds-1])
	if ratios[rounds/2] < *leastClaims {
		t.Errorf("it makes %.2f of the claims, want %.2f", ratios[rounds/2], *leastClaims)
	}
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
