package teammate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
)

// Verdict is what the gates of one turn end decided together. The zero Verdict
// agrees: the turn may end.
type Verdict struct {
	Feedback []Input     // what the model is to see: in the next pass, or after a halt in the next turn
	Halt     string      // a halt: why, for people
	HaltedBy hooks.Event // a halt: the event whose hook it was
	Awaits   string      // whose answer a gate waits for, for people; empty: none does
}

// Halted reports whether a hook said continue:false. It outweighs refusals.
func (v Verdict) Halted() bool { return v.HaltedBy != "" }

// Refused reports whether the agent has to go on.
func (v Verdict) Refused() bool { return !v.Halted() && len(v.Feedback) > 0 }

// Waits reports whether nothing but somebody's answer is missing. The agent can do
// nothing about that, so its turn ends; the answer comes as mail.
func (v Verdict) Waits() bool { return !v.Halted() && !v.Refused() && v.Awaits != "" }

// and adds what a later gate decided. The first halt gives the reason.
func (v Verdict) and(w Verdict) Verdict {
	v.Feedback = append(v.Feedback, w.Feedback...)
	v.Awaits = cmp.Or(v.Awaits, w.Awaits)
	if !v.Halted() {
		v.Halt, v.HaltedBy = w.Halt, w.HaltedBy
	}
	return v
}

// endTurn asks the gates whether the turn may end. It comes once the agent has
// called its last tool, never after an API error, and again after each pass
// that a refusal caused. Its error is the cause that aborted the turn. While its
// plan is looked at, a member has done nothing that gates could judge: it waits.
//
// Trouble in the machinery itself (a runner that fails, a task list that
// cannot be read) lets the turn end: the user sees a warning, the model does
// not, and a member never hangs on a fault of ours.
func (t *Teammate) endTurn(ctx context.Context, u *turn) (Verdict, error) {
	if t.leaves() {
		return Verdict{}, nil // see lastStop
	}
	if why := t.onHold(); why != "" {
		return Verdict{Awaits: why}, nil
	}
	v, err := t.askGates(ctx, u)
	u.gated = t.leaves()
	if ctx.Err() != nil {
		return Verdict{}, context.Cause(ctx)
	}
	if err != nil {
		u.warn("Stop hook failed: %v", err)
	}
	if err != nil || u.gated {
		return Verdict{}, nil
	}
	return v, nil
}

// askGates is the order of things (DESIGN 2). Stop comes first, and a refusal
// or a halt there skips the rest: who is not done need not be asked about
// tasks. Then TaskCompleted for each task that the member has in progress, one
// after another; then TeammateIdle, whatever the tasks' hooks said, so that
// the agent hears all there is to do at once. A lead has Stop
// alone, a helper SubagentStop.
func (t *Teammate) askGates(ctx context.Context, u *turn) (Verdict, error) {
	if t.helper != nil {
		return u.ask(ctx, u.subagentStopInput())
	}
	v, err := u.ask(ctx, u.stopInput())
	if err != nil || v.Refused() || v.Halted() || v.Waits() || t.opts.Lead || t.leaves() {
		return v, err
	}
	owned, err := t.opts.Tasks.InProgress(ctx, t.opts.Name)
	if err != nil {
		return Verdict{}, fmt.Errorf("task list: %w", err)
	}
	for _, task := range owned {
		if t.leaves() {
			return v, nil
		}
		w, err := u.ask(ctx, u.taskInput(task))
		if err != nil {
			return Verdict{}, err
		}
		v = v.and(w)
	}
	if t.leaves() {
		return v, nil
	}
	w, err := u.ask(ctx, u.idleInput())
	return t.passed(ctx, owned, v.and(w), err)
}

// ask runs one gate. The runner gives each run a tool-use id of its own, which
// is why none is passed in. After each gate an aborted turn is noticed; only
// after Stop is the model told of it (HOOKS.md section 8, rules 15 and 20).
func (u *turn) ask(ctx context.Context, gate hooks.Payload) (Verdict, error) {
	out, err := u.fire(ctx, gate)
	if err != nil {
		if ctx.Err() != nil && gate.Event() == hooks.Stop {
			u.keepInterruption(ctx)
		}
		return Verdict{}, err
	}
	v := decide(out)
	u.report(out, v)
	return v, nil
}
