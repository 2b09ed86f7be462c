package teammate

import (
	"context"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// drainer is a HookRunner whose hooks may go on in the background; *runner.Runner
// is one. Drain waits for the hooks of a session, and kills them when ctx ends.
type drainer interface {
	Drain(ctx context.Context, session string)
}

// onBackgroundHook handles the progress of a hook in the background: that it goes on there, and
// its result. It runs in that hook's goroutine, possibly after the turn.
func (s *hookContext) onBackgroundHook(in hooks.Payload, p hooks.Progress) {
	t, b := s.t.root(), p.Background
	// First, so that a crash does not lose what the journal reports.
	if t.opts.OnBackgroundHook != nil {
		t.opts.OnBackgroundHook(p)
	}
	if p.Result == nil {
		return
	}
	s.emit(HookEvent(p))
	for _, text := range b.SystemMessages {
		s.warn("%s says: %s", hooks.Input{Payload: in}.HookName(), text)
	}
	s.deliverOutput(p)
}

// deliverOutput delivers a background hook's output to the model. Output that wakes the
// member goes through its mailbox; the rest waits for its next request.
//
// Without OnBackgroundHook there is no mailbox that could wake the member, so all output
// waits. Feedback of a turn end is shown to people as such, because it may be why the
// member's next turn begins.
func (s *hookContext) deliverOutput(p hooks.Progress) {
	t, b := s.t.root(), p.Background
	kind, path := agent.FromContext, "tool"
	if b.Feedback {
		kind, path = agent.FromHook, "turn_end"
	}
	for _, text := range b.Messages {
		if b.Wakes {
			s.emit(events.HookFeedback{Event: string(p.Event), ToolUseID: p.ToolUseID,
				Text: hooks.Unframed(text), Path: path})
		}
		if !b.Wakes || t.opts.OnBackgroundHook == nil {
			t.later.Add(agent.Input{Kind: kind, Text: text})
		}
	}
}

// waitForHooks waits for the member's background hooks, at most agent.BackgroundLimit, and kills them
// at once when ctx has ended.
func (t *Teammate) waitForHooks(ctx context.Context) {
	s, ok := t.opts.Hooks.(drainer)
	if !ok {
		return
	}
	limited, cancel := context.WithTimeout(ctx, agent.BackgroundLimit)
	defer cancel()
	s.Drain(limited, t.opts.SessionID)
}

// keepLater stores hook output for the member's next request, so that it survives the end.
func (t *Teammate) keepLater() {
	at := t.hookContext(t.turns, "")
	at.keepInputs(t.later.Drain())
}

// applyHookFeedback applies feedback that hooks gave from the background: the Stop hooks of the
// turn that it causes see stop_hook_active. Feedback of a turn end continues that turn
// as if it had been refused; the count of refusals continues too if there is no other
// input.
func (u *turn) applyHookFeedback(inputs []agent.Input) {
	late := 0
	for _, in := range inputs {
		if in.Kind == agent.FromHook {
			late++
		}
	}
	// A turn caused by a hook of another event counts as continued but not as refused,
	// because that event fires again only on a tool call, a prompt or a session start.
	u.refused = u.cause == events.ByHook
	if late == 0 {
		return
	}
	u.refused, u.refusals = true, 1
	if late == len(inputs) {
		u.refusals = u.t.refusals + 1
	}
}
