package replica_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

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
