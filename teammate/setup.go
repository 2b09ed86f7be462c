package teammate

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// Setup runs the Setup hooks in the name of this member; trigger is init or
// maintenance. What they add goes with the first prompt. They cannot refuse anything;
// the error is ctx's. Call Setup before Run.
func (t *Teammate) Setup(ctx context.Context, trigger string) error {
	at := t.hookContext(t.turns, "")
	out, _ := at.try(ctx, hooks.SetupInput{Trigger: trigger})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.kept = append(t.kept, agent.ContextInputs(out.AdditionalContext)...)
	return nil
}

// applySessionOutput applies what a SessionStart or UserPromptSubmit hook sets for the session: its
// title, and the lead's first prompt.
func (s *hookContext) applySessionOutput(out hooks.Outcome) {
	if title := out.Text("sessionTitle"); title != "" {
		s.t.title = title
	}
	first := out.Text("initialUserMessage")
	switch {
	case first == "":
	case s.t.opts.Lead && !s.t.opts.Resumed:
		s.t.first = first
	default:
		s.warn("initialUserMessage of a SessionStart hook was ignored: it applies only to a lead that begins its session")
	}
}
