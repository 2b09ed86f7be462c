package crew

import (
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/members"
)

// TestStatusWhileHooksStart: a member never waits for a hook that is not listed. A hook
// could start in the middle of a status; each round is another chance for that.
func TestStatusWhileHooksStart(t *testing.T) {
	c := crewOf(t, Deps{Clock: members.Clock{}}, "lead", "dev")
	s := addSeat(t, c, &configs.Member{Name: "dev"})
	s.Life.Begin()
	s.Life.Wait()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			started := hooks.Progress{Command: "make watch", Background: &hooks.Background{ID: "1", Rewake: true}}
			c.deps.Hooks.Observe(t.Context(), "dev", started)
			started.Result = &hooks.Result{}
			c.deps.Hooks.Observe(t.Context(), "dev", started)
		}
	})
	for range 10_000 {
		m := s.Status(nil, nil)
		if listed := len(m.Background) > 0; listed != (m.WaitsFor == "hook make watch") {
			t.Fatalf("it waits for %q, and these hooks run: %q", m.WaitsFor, m.Background)
		}
	}
}
