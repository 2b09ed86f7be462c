package teammate

import (
	"context"

	"github.com/coveyteam/covey/teammate/agent"
)

// Asker decides tool calls that need someone's answer.
type Asker interface {
	// Present reports whether someone can be asked now. If not, calls are denied as
	// if the member had no Asker.
	Present() bool
	// Ask waits for an answer as long as someone may give one. It is called again for
	// the same call after a restart, and returns at once when ctx ends.
	Ask(ctx context.Context, q Question) Answer
}

// Unbegun implements agent.Reminder for agents that resume after a crash.
func (run *agentRun) Unbegun(ctx context.Context, callID string) bool {
	r, ok := run.u.t.opts.Asker.(agent.Reminder)
	return ok && r.Unbegun(ctx, callID)
}

// Question is a tool call that needs someone's permission.
type Question struct {
	Member string
	Call   agent.ToolCall
	Reason string // why it is asked: the mode, an ask rule, or a hook's reason
}

// Answer is the answer of an Asker.
type Answer struct {
	Allow bool
	By    string // who decided; ByTimeLimit: nobody answered in time; empty: nobody could be asked
	Said  string // a message for the model; may be empty
}

// ByTimeLimit is the By of an Answer that nobody gave in time. It is an automatic
// decision, so the PermissionDenied hooks run.
const ByTimeLimit = "time limit"

// asker returns who can be asked now, or nil.
func (p permitter) asker() Asker {
	if a := p.at.t.opts.Asker; a != nil && a.Present() {
		return a
	}
	return nil
}

// onHold returns what the member waits for before its turn end can be judged, or "".
func (t *Teammate) onHold() string {
	// A helper cannot wait: its caller's turn waits for it.
	if t.opts.OnHold == nil || t.helper != nil {
		return ""
	}
	return t.opts.OnHold()
}
