package teammate

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// Decision is the result of one gate, or of all gates of a turn end together. The
// constants are in the order of their weight, and the heaviest decision wins.
type Decision int

// The decisions.
const (
	Passed  Decision = iota // the turn may end
	Awaits                  // the turn ends without completion: an answer is missing, which arrives as mail
	Refused                 // the agent must continue
	Capped                  // refused more often in a row than the limit: the turn ends anyway
	Halted                  // a hook said continue:false
)

// Verdict is a decision with its reasons. The zero Verdict lets the turn end.
type Verdict struct {
	Decision Decision
	Feedback []agent.Input // for the model, in the next pass or the next turn
	Why      string        // for people: whose answer it awaits, why a hook halts, or which gate refused
	Said     string        // the last line that the gate which refused has printed
	By       hooks.Event   // for Halted: the event of the hook
	hook     string        // for Halted: its command
}

// and combines v with the verdict of a later gate. Between equal decisions the first gives the reason.
func (v Verdict) and(w Verdict) Verdict {
	all := append(v.Feedback, w.Feedback...)
	if w.Decision > v.Decision {
		v = w
	}
	v.Feedback = all
	return v
}

// endTurn decides whether the turn may end. It is called when the agent returns,
// and again after each pass that a refusal caused; it is never called after an API
// error. Its result is final. Its error is the cause that aborted the turn.
//
// A fault of covey itself (a runner that fails, a task list that cannot be read)
// lets the turn end: the user sees a warning, and the model does not.
func (u *turn) endTurn(ctx context.Context) (Verdict, error) {
	t := u.t
	if t.leaves() {
		return Verdict{}, nil // see lastStop
	}
	if why := t.onHold(); why != "" { // there is no work for the gates to judge yet
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

// overCap reports whether the last refusal exceeds the limit of refusals in a row.
func (u *turn) overCap() bool {
	limit := u.t.opts.Limits.StopBlockCap
	return limit > 0 && u.refusals > limit
}

// askGates runs the gates in order. Stop comes first; if it does not pass,
// the rest is skipped. Then comes TaskCompleted for each task that the member has in
// progress, then TeammateIdle whatever their result, so that the agent gets all
// feedback at once. If all pass, askGates completes the tasks where the team wants
// that. A lead has only Stop, a helper only SubagentStop. The remaining gates are
// skipped for a member that agrees to leave meanwhile.
func (u *turn) askGates(ctx context.Context) (Verdict, error) {
	t := u.t
	if t.helper != nil {
		return u.ask(ctx, u.subagentStopInput())
	}
	v, err := u.askStop(ctx)
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

// complete reports to the task list that the gates of these tasks have passed, if it is a TaskCloser.
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
