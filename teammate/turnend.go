package teammate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// Decision is what a gate, or all gates of a turn end together, decide. The
// heavier one counts: they stand in the order of their weight.
type Decision int

// The decisions.
const (
	Passed  Decision = iota // the turn may end
	Awaits                  // it ends too: only somebody's answer is missing, which comes as mail
	Refused                 // the agent has to go on
	Capped                  // refused once more than may be in a row: the turn ends all the same
	Halted                  // a hook said continue:false
)

// Verdict is a decision with its reasons. The zero Verdict lets the turn end.
type Verdict struct {
	Decision Decision
	Feedback []agent.Input // what the model is to see: in the next pass, or in the next turn
	Why      string        // for people: whose answer it awaits, or why a hook halts
	By       hooks.Event   // Halted: the event whose hook it was
}

// and adds what a later gate decided. Among equals the first one gives the reason.
func (v Verdict) and(w Verdict) Verdict {
	all := append(v.Feedback, w.Feedback...)
	if w.Decision > v.Decision {
		v = w
	}
	v.Feedback = all
	return v
}

// endTurn decides whether the turn may end. It is called when the agent falls
// silent, never after an API error, and again after each pass that a refusal
// caused. What it returns is final. Its error is the cause that aborted the turn.
//
// A fault of covey itself (a runner that fails, a task list that cannot be read)
// lets the turn end: the user sees a warning, the model does not.
func (u *turn) endTurn(ctx context.Context) (Verdict, error) {
	t := u.t
	if t.leaves() {
		return Verdict{}, nil // see lastStop
	}
	if why := t.onHold(); why != "" { // no work yet that gates could judge
		return Verdict{Decision: Awaits, Why: why}, nil
	}
	v, err := u.askGates(ctx)
	u.gated = t.leaves()
	switch {
	case ctx.Err() != nil:
		return Verdict{}, context.Cause(ctx)
	case err != nil:
		u.at.warn("Stop hook failed: %v", err)
		return Verdict{}, nil
	case u.gated:
		return Verdict{}, nil
	case v.Decision == Refused:
		u.refused = true
		if u.refusals++; u.overCap() {
			v.Decision = Capped
		}
	}
	return v, nil
}

// overCap reports whether the last refusal was one more than may come in a row.
func (u *turn) overCap() bool {
	limit := u.t.opts.Limits.StopBlockCap
	return limit > 0 && u.refusals > limit
}

// askGates asks the gates in their order (DESIGN 2). Stop comes first; if it does
// not pass, the rest is skipped. Then comes TaskCompleted for each task that the
// member has in progress, then TeammateIdle whatever those said, so that the agent
// hears all there is to do at once. If all pass, the tasks are completed, where the
// team wants that. A lead has Stop alone, a helper SubagentStop. A member that
// agrees to leave meanwhile is asked no more.
func (u *turn) askGates(ctx context.Context) (Verdict, error) {
	t := u.t
	if t.helper != nil {
		return u.ask(ctx, u.subagentStopInput())
	}
	v, err := u.ask(ctx, u.stopInput())
	if err != nil || v.Decision != Passed || t.opts.Lead || t.leaves() {
		return v, err
	}
	owned, err := t.opts.Tasks.InProgress(ctx, t.opts.Name)
	if err != nil {
		return Verdict{}, fmt.Errorf("task list: %w", err)
	}
	gates := make([]hooks.Payload, 0, len(owned)+1)
	for _, task := range owned {
		gates = append(gates, u.at.taskInput(task))
	}
	for _, gate := range append(gates, u.at.idleInput()) {
		if t.leaves() {
			return v, nil
		}
		w, err := u.ask(ctx, gate)
		if err != nil {
			return Verdict{}, err
		}
		v = v.and(w)
	}
	if v.Decision == Passed {
		err = t.complete(ctx, owned)
	}
	return v, err
}

// complete tells the task list that the gates of these tasks have passed, if it asks.
func (t *Teammate) complete(ctx context.Context, passed []tasks.Task) error {
	list, ok := t.opts.Tasks.(TaskCloser)
	if !ok || len(passed) == 0 {
		return nil
	}
	if err := list.Passed(ctx, passed); err != nil {
		return fmt.Errorf("after the gates: %w", err)
	}
	return nil
}

// decide reads the outcome of one gate. A Stop hook's context sends the agent on, too.
func decide(out hooks.Outcome) Verdict {
	switch {
	case out.Decision == hooks.Halt:
		return Verdict{Decision: Halted, By: out.Event, Why: haltReason(out), Feedback: said(out)}
	case out.Decision == hooks.Await:
		return Verdict{Decision: Awaits, Why: cmp.Or(out.Awaits, "an answer")}
	case out.Continues():
		return Verdict{Decision: Refused, Feedback: said(out)}
	}
	return Verdict{}
}
