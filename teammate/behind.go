package teammate

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// settler is a HookRunner whose hooks may go on in the background; *runner.Runner
// is one. Settle waits for those of a session, and ends them when ctx ends.
type settler interface {
	Settle(ctx context.Context, session string)
}

// behind hears of a hook that goes on in the background: that it does, and what it
// came to. It is called in that hook's goroutine, also when this turn is over.
func (at *scope) behind(in hooks.Payload, p hooks.Progress) {
	t, b := at.t.root(), p.Background
	// First of all: what the journal tells of must not be lost by a crash.
	if t.opts.Behind != nil {
		t.opts.Behind(p)
	}
	if p.Result == nil {
		return
	}
	at.emit(HookEvent(p))
	for _, text := range b.SystemMessages {
		at.warn("%s says: %s", hooks.Input{Payload: in}.HookName(), text)
	}
	at.passOn(p)
}

// passOn sees to what such a hook has for the model. What is to wake the member
// goes by its mailbox; the rest waits for its next request.
func (at *scope) passOn(p hooks.Progress) {
	t, b := at.t.root(), p.Background
	kind, path := agent.FromContext, "tool"
	if b.Feedback {
		kind, path = agent.FromHook, "turn_end"
	}
	for _, text := range b.Messages {
		if b.Wakes {
			at.emit(agent.HookFeedback{Event: string(p.Event), ToolUseID: p.ToolUseID, Text: text, Path: path})
		}
		if !b.Wakes || t.opts.Behind == nil {
			t.later.add(agent.Input{Kind: kind, Text: text})
		}
	}
}

// settle waits for the hooks that the member has in the background, but not for
// long, and not at all once ctx is over: it ends them then.
func (t *Teammate) settle(ctx context.Context) {
	s, ok := t.opts.Hooks.(settler)
	if !ok {
		return
	}
	limited, cancel := context.WithTimeout(ctx, asideLimit)
	defer cancel()
	s.Settle(limited, t.opts.SessionID)
}

// putBy keeps what hooks had for the member's next request over its end.
func (t *Teammate) putBy() {
	at := t.scope(t.turns, "")
	at.keep(t.later.take())
}

// goesOn takes up what a hook has found fault with from the background: the Stop hooks
// of the turn that this causes see stop_hook_active. If it was a turn end, the turn
// goes on from it, as if it had been refused. The count
// of refusals goes on with it if nothing else has come in.
func (u *turn) goesOn(inputs []agent.Input) {
	late := 0
	for _, in := range inputs {
		if in.Kind == agent.FromHook {
			late++
		}
	}
	// A turn that a hook of another event causes counts as one that goes on, too, but
	// not as refused: it takes a tool call, a prompt or a session to fire that again.
	u.refused = u.cause == agent.ByHook
	if late == 0 {
		return
	}
	u.refused, u.refusals = true, 1
	if late == len(inputs) {
		u.refusals = u.t.refusals + 1
	}
}
