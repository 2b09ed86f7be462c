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

// helperSet holds the running helpers of a member. The zero value is ready to use. It is
// safe for concurrent use.
type helperSet struct {
	mu      sync.Mutex
	helpers []*helperRole
}

// add records that a helper runs.
func (s *helperSet) add(e *helperRole) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.helpers = append(s.helpers, e)
}

// remove records that a helper has ended.
func (s *helperSet) remove(e *helperRole) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.helpers = slices.DeleteFunc(s.helpers, func(other *helperRole) bool { return other == e })
}

// has reports whether the helper with that id is running.
func (s *helperSet) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.helpers, func(e *helperRole) bool { return e.id == id })
}

// background returns the helpers in the background.
func (s *helperSet) background() []*helperRole {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.helpers), func(e *helperRole) bool { return e.Done == nil })
}

// RunBegan records that a command runs in the member's background. If it is cut off, the member's
// next run is told. It may be called from any goroutine, as RunEnded may.
func (t *Teammate) RunBegan(id string) { t.writeRunLine(transcript.HelperStarted, id) }

// RunEnded records that a command in the member's background has ended, and puts the notice, if
// any, into its mailbox.
func (t *Teammate) RunEnded(ctx context.Context, id, notice string) {
	if notice != "" && t.opts.PostNotice != nil {
		if err := t.opts.PostNotice(ctx, t.runNotice(id), notice); err != nil {
			t.outside().warn("the end of command %s could not be told: %v", id, err)
			return
		}
	}
	t.writeRunLine(transcript.HelperEnded, id)
}

// RunStopped records that a command was ended with the member's session, although nobody waited
// for it. The next prompt says so. It must not be called while Run runs.
func (t *Teammate) RunStopped(id, notice string) {
	t.outside().keepInputs([]agent.Input{{Kind: agent.FromCovey, Text: notice}})
	t.writeRunLine(transcript.HelperEnded, id)
}

// runNotice returns the id of the notice of a command's end. The ids of commands differ only
// within a session.
func (t *Teammate) runNotice(id string) string { return t.opts.SessionID + " " + id }

// writeRunLine writes into the transcript what the member's next run must know of a command.
func (t *Teammate) writeRunLine(subtype, id string) {
	ln := t.outside().line(subtype)
	ln.Helper = id
	if err := t.opts.Transcript.Append(ln); err != nil {
		t.outside().warn("the transcript lacks %s %s: %v", subtype, id, err)
	}
}

// Helpers returns how many helpers run in the member's background. It may be called at
// any time from any goroutine.
func (t *Teammate) Helpers() int { return len(t.helpers.background()) }

// inBackground returns all background work of the member, in the form that hooks get.
// It does not contain a helper that the member waits for.
func (t *Teammate) inBackground() []hooks.BackgroundTask {
	list := []hooks.BackgroundTask{}
	if t.opts.Background != nil {
		list = append(list, t.opts.Background()...)
	}
	for _, e := range t.helpers.background() {
		list = append(list, hooks.BackgroundTask{
			ID: e.id, Type: "subagent", Status: "running", Description: e.Description, AgentType: e.Type,
		})
	}
	return list
}

// crons returns the schedules that the member has made for itself, in the form that hooks get.
func (t *Teammate) crons() []hooks.SessionCron {
	if t.opts.Crons == nil {
		return []hooks.SessionCron{}
	}
	return t.opts.Crons()
}

// runInBackground runs a background helper from start to end. Its result goes to the member's
// mailbox. If the member is stopped first, its next run is told that the helper was
// interrupted.
func (u *turn) runInBackground(ctx context.Context, inputs []agent.Input) {
	t, e := u.t.root(), u.t.helper
	// The helper outlives the turn that called it, so that turn's time limit does not end
	// it. It has the same limit for itself.
	if limit := t.opts.Limits.TurnTimeout; limit > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, limit, errTurnTimeout)
		defer cancel()
		ctx = timed
	}
	// Remove it from the list only when the notice is in the mailbox. Otherwise the team
	// would look finished in between.
	help := u.runHelperSafely(ctx, inputs)
	defer func() {
		t.helpers.remove(e)
		u.reportHelperEnd(help)
	}()
	// The member is being stopped. Its transcript still says that the helper runs, and its
	// next run tells it that the helper was interrupted (reportLostHelpers).
	if context.Cause(ctx) == context.Canceled {
		return
	}
	later := context.WithoutCancel(ctx)
	if err := t.opts.PostNotice(later, e.id, e.Done(help)); err != nil {
		u.at.warn("the result of helper %s could not be delivered: %v", e.id, err)
		return
	}
	u.at.writeMemberLine(transcript.HelperEnded, agent.Usage{}, 0)
}

// runHelperSafely is assist that recovers panics, because no caller does in this goroutine.
func (u *turn) runHelperSafely(ctx context.Context, inputs []agent.Input) (h Help) {
	defer func() {
		if p := recover(); p != nil {
			u.at.warn("helper %s panicked: %v", u.t.helper.id, p)
			h = Help{ID: u.t.helper.id, Problem: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	return u.runHelper(ctx, inputs)
}

// writeMemberLine writes into the member's own transcript what its next run needs besides the
// messages: tokens used, and whether a helper still runs.
func (s *hookContext) writeMemberLine(subtype string, used agent.Usage, usd float64) {
	whose, id := s, ""
	if e := s.t.helper; e != nil {
		whose, id = e.caller.at, e.id
	}
	ln := whose.line(subtype)
	ln.Helper = id
	if used != (agent.Usage{}) {
		ln.Usage, ln.CostUSD = &used, usd
	}
	if err := s.t.root().opts.Transcript.Append(ln); err != nil {
		s.warn("the transcript lacks %s %s: %v", subtype, id, err)
	}
}

// reportLostHelpers tells the member which helpers and commands in its background were interrupted
// when its last run ended.
//
// The notice has the helper's id, so posting it again after a crash has no effect. The line
// that the helper has ended follows the notice: the other order could lose it.
func (t *Teammate) reportLostHelpers(ctx context.Context, lost []string) error {
	for _, id := range lost {
		if t.opts.PostNotice == nil {
			break
		}
		what, notice := "Helper", id
		if !IsHelperID(id) {
			what, notice = "Command", t.runNotice(id)
		}
		text := fmt.Sprintf("%s %s, which ran in the background for you, was interrupted when covey stopped: "+
			"it may have done all, some or none of its work. Check before you repeat it.", what, id)
		if err := t.opts.PostNotice(ctx, notice, text); err != nil {
			return fmt.Errorf("telling of helper %s: %w", id, err)
		}
		over := t.hookContext(0, "").line(transcript.HelperEnded)
		over.Helper = id
		if err := t.opts.Transcript.Append(over); err != nil {
			return err
		}
	}
	return nil
}
