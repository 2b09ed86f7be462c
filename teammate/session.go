package teammate

import (
	"context"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// shutdownLimit limits hooks that run when nobody waits for them: after an interrupt, and at
// the end of a session that was told to stop.
const shutdownLimit = 1500 * time.Millisecond

// sessionEndLimit limits the SessionEnd hooks of a member that ends by itself. The
// runner's own limit for that event is lower unless a hook asks for more.
const sessionEndLimit = 60 * time.Second

// startSession runs the SessionStart hooks. Their output goes with the first prompt; they
// cannot refuse anything (HOOKS.md section 1).
func (t *Teammate) startSession(ctx context.Context) error {
	at := t.hookContext(t.turns, "")
	// The order of these events is that of recorded hosts.
	at.tellInstructions(ctx, false)
	out, _ := at.try(ctx, hooks.SessionStartInput{Source: t.opts.source()})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.kept = append(t.kept, agent.ContextInputs(out.AdditionalContext)...)
	at.applySessionOutput(out)
	at.watchPaths(out)
	at.tellInstructions(ctx, true)
	return nil
}

// source returns how the session begins. A session that takes the place of another one, and
// a resumed session whose transcript is missing, start as clear: what earlier SessionStart
// hooks told the model is gone too.
func (o *Options) source() string {
	switch {
	case !o.Resumed:
		return "startup"
	case o.History.New, o.History.Begun:
		return "clear"
	}
	return "resume"
}

// endSession runs the SessionEnd hooks, for a shorter time if ctx has ended.
func (t *Teammate) endSession(ctx context.Context, reason string) {
	limit := sessionEndLimit
	if ctx.Err() != nil {
		limit = shutdownLimit
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	at := t.hookContext(t.turns, "")
	if _, err := at.fire(ctx, hooks.SessionEndInput{Reason: reason}); err != nil {
		at.warn("SessionEnd hook failed: %v", err)
	}
}
