package teammate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// staff are the helpers that work for a member now. The zero value is ready, and safe
// for concurrent use.
type staff struct {
	mu      sync.Mutex
	helpers []*employment
}

// add notes that a helper works.
func (s *staff) add(e *employment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.helpers = append(s.helpers, e)
}

// remove notes that a helper has ended.
func (s *staff) remove(e *employment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.helpers = slices.DeleteFunc(s.helpers, func(other *employment) bool { return other == e })
}

// has reports whether the helper of that id works.
func (s *staff) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.helpers, func(e *employment) bool { return e.id == id })
}

// beside returns those that the member does not wait for.
func (s *staff) beside() []*employment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.helpers), func(e *employment) bool { return e.Done == nil })
}

// Helpers is how many helpers work beside the member now. It may be called at
// any time from any goroutine.
func (t *Teammate) Helpers() int { return len(t.staff.beside()) }

// inBackground is all work that goes on beside the member's turns, as hooks see
// it. A helper that the member waits for is not beside it.
func (t *Teammate) inBackground() []hooks.BackgroundTask {
	list := []hooks.BackgroundTask{}
	if t.opts.Background != nil {
		list = append(list, t.opts.Background()...)
	}
	for _, e := range t.staff.beside() {
		list = append(list, hooks.BackgroundTask{
			ID: e.id, Type: "subagent", Status: "running", Description: e.Description, AgentType: e.Type,
		})
	}
	return list
}

// besides is the life of a helper that works beside its member. What came of it
// goes into the member's mailbox; if the member is stopped first, its next life
// is told that the helper was cut off.
func (u *turn) besides(ctx context.Context, inputs []agent.Input) {
	t, e := u.t.root(), u.t.helper
	if limit := t.opts.Limits.TurnTimeout; limit > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, limit, errTurnTimeout)
		defer cancel()
		ctx = timed
	}
	// Off the list only once the notice is in the mailbox: the team would look as if
	// there were nothing more to come.
	help := u.contained(ctx, inputs)
	defer func() {
		t.staff.remove(e)
		u.over(help)
	}()
	if context.Cause(ctx) == context.Canceled {
		return
	}
	later := context.WithoutCancel(ctx)
	if err := t.opts.Later(later, e.id, e.Done(help)); err != nil {
		u.at.warn("what helper %s came to could not be passed on: %v", e.id, err)
		return
	}
	u.at.jot(transcript.HelperEnded, agent.Usage{}, 0)
}

// contained is assist without its panics: nobody above catches them here.
func (u *turn) contained(ctx context.Context, inputs []agent.Input) (h Help) {
	defer func() {
		if p := recover(); p != nil {
			u.at.warn("helper %s panicked: %v", u.t.helper.id, p)
			h = Help{ID: u.t.helper.id, Problem: fmt.Sprintf("it failed inside: %v", p)}
		}
	}()
	return u.assist(ctx, inputs)
}

// jot writes into the member's own transcript what its next life has to know
// beside the messages: tokens that were used, and whether a helper still works.
func (at *scope) jot(subtype string, used agent.Usage, usd float64) {
	whose, id := at, ""
	if e := at.t.helper; e != nil {
		whose, id = e.boss.at, e.id
	}
	ln := whose.line(subtype)
	ln.Helper = id
	if used != (agent.Usage{}) {
		ln.Usage, ln.CostUSD = &used, usd
	}
	if err := at.t.root().opts.Transcript.Append(ln); err != nil {
		at.warn("the transcript does not tell of %s %s: %v", subtype, id, err)
	}
}

// reportLostHelpers tells the member which helpers were cut off when its last life ended.
func (t *Teammate) reportLostHelpers(ctx context.Context, lost []string) error {
	for _, id := range lost {
		if t.opts.Later == nil {
			break
		}
		text := fmt.Sprintf("Helper %s, which worked in the background for you, was cut off when covey was stopped: "+
			"it may have done all, some or none of its work. Look before you repeat it.", id)
		if err := t.opts.Later(ctx, id, text); err != nil {
			return fmt.Errorf("telling of helper %s: %w", id, err)
		}
		over := t.scope(0, "").line(transcript.HelperEnded)
		over.Helper = id
		if err := t.opts.Transcript.Append(over); err != nil {
			return err
		}
	}
	return nil
}
