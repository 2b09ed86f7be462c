package teammate

import (
	"cmp"
	"context"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// MaySwitch lets the builtin agent ask about a switch.
func (run *agentRun) MaySwitch(ctx context.Context, s events.ModelSwitched) (refusal string) {
	return run.u.at.maySwitch(ctx, s)
}

// Switched lets the builtin agent ask about a switch.
func (run *agentRun) Switched(ctx context.Context, s events.ModelSwitched) []agent.Input {
	return run.u.at.switched(ctx, s)
}

// SwitchModel runs the hooks for a change of the member's own model, and reports the change unless
// they refuse it. What they add goes with the next request. Only Options.Equip may call it.
func (t *Teammate) SwitchModel(ctx context.Context, s events.ModelSwitched) (refusal string) {
	at := t.hookContext(t.turns, "")
	if refusal = at.maySwitch(ctx, s); refusal != "" {
		return refusal
	}
	for _, in := range at.switched(ctx, s) {
		t.later.Add(in)
	}
	return ""
}

// maySwitch runs the PreModelSwitch hooks, and returns why they refuse; empty: they do not.
func (h *hookContext) maySwitch(ctx context.Context, s events.ModelSwitched) (refusal string) {
	// Hooks that fail refuse nothing; try has warned of them.
	out, _ := h.try(ctx, hooks.PreModelSwitchInput{ModelSwitch: hookSwitch(s)})
	// Nobody is there to ask.
	if p := out.Permission.Decision; out.Decision == hooks.Block || p == "deny" || p == "ask" {
		return "a PreModelSwitch hook refuses: " + cmp.Or(out.Refusal(), out.Permission.Reason)
	}
	return ""
}

// switched reports a switch and runs the PostModelSwitch hooks. It returns what they add.
func (h *hookContext) switched(ctx context.Context, s events.ModelSwitched) []agent.Input {
	h.emit(s)
	out, _ := h.try(ctx, hooks.PostModelSwitchInput{ModelSwitch: hookSwitch(s)})
	return agent.ContextInputs(out.AdditionalContext)
}

// hookSwitch returns a change of the model as hooks see it. A person asks for one with the command
// covey up.
func hookSwitch(s events.ModelSwitched) hooks.ModelSwitch {
	in := hooks.ModelSwitch{FromModel: s.From, ToModel: s.To, Source: "auto", ContextTokens: s.Tokens}
	if s.BySpec {
		in.Source, in.Requested = "command", &s.To
	}
	return in
}
