package teammate

import (
	"context"

	"github.com/coveyteam/covey/teammate/agent"
)

// Asker decides tool calls that need somebody to ask (DESIGN 10.4).
type Asker interface {
	// Present reports whether there is somebody to ask now. Where there is not, a
	// call is denied as if the member had no Asker.
	Present() bool
	// Ask waits for an answer as long as somebody may give one. It is called again
	// for the same call after a restart, and returns at once when ctx ends.
	Ask(ctx context.Context, q Question) Answer
}

// Unbegun implements Reminder for agents that go on after a crash.
func (run *agentRun) Unbegun(ctx context.Context, callID string) bool {
	r, ok := run.u.t.opts.Asker.(agent.Reminder)
	return ok && r.Unbegun(ctx, callID)
}

// Question is a tool call that only somebody else can allow.
type Question struct {
	Member string
	Call   agent.ToolCall
	Reason string // why it is asked: the mode, an ask rule, or what a hook says
}

// Answer is what an Asker says.
type Answer struct {
	Allow bool
	By    string // who decided; ByTimeLimit: nobody in time; empty: nobody could be asked
	Said  string // what they want the model to know besides; may be empty
}

// ByTimeLimit is what an Asker says if nobody answered in time: an automatic
// decision, of which the PermissionDenied hooks are told.
const ByTimeLimit = "time limit"

// asker is who can be asked now; nil: nobody.
func (p permitter) asker() Asker {
	if a := p.at.t.opts.Asker; a != nil && a.Present() {
		return a
	}
	return nil
}

// onHold is what the member waits for before its turn end is anything to judge.
func (t *Teammate) onHold() string {
	if t.opts.OnHold == nil || t.helper != nil {
		return ""
	}
	return t.opts.OnHold()
}
