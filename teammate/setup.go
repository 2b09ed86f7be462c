package teammate

import (
	"context"
	"encoding/json"

	"github.com/coveyteam/covey/hooks"
)

// Setup runs the Setup hooks, trigger being init or maintenance, in the name of
// this member and before its session begins. What they add is for its first
// prompt. They can refuse nothing; the error is ctx's. It is called before Run.
func (t *Teammate) Setup(ctx context.Context, trigger string) error {
	at := t.scope(t.turns, "")
	out, _ := at.try(ctx, hooks.SetupInput{Trigger: trigger})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.kept = append(t.kept, asContext(out.AdditionalContext)...)
	return nil
}

// heed follows what a hook of SessionStart or UserPromptSubmit wants for the
// session: its title, and what the lead is asked first.
func (at *scope) heed(out hooks.Outcome) {
	if title := outputText(out, "sessionTitle"); title != "" {
		at.t.title = title
	}
	first := outputText(out, "initialUserMessage")
	switch {
	case first == "":
	case at.t.opts.Lead && !at.t.opts.Resumed:
		at.t.first = first
	default:
		at.warn("initialUserMessage of a SessionStart hook was left out: it counts for a lead that begins")
	}
}

// outputText is a text among an outcome's output fields.
func outputText(out hooks.Outcome, field string) string {
	var text string
	if raw, ok := out.Output[field]; !ok || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}
