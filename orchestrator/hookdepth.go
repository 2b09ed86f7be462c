package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
)

// hookAt says what a hook's process was started for.
type hookAt struct {
	depth int    // how many hooks stand around what it asks for, itself included
	task  string // id of the task that it judges; empty: none
}

// RegisterHook is Register for a process of a hook: what it asks the team for is known to come
// from within that hook. depth is how many hooks stand there with it.
func (p *Processes) RegisterHook(pid int, owner Owner, in hooks.Input, depth int) (release func()) {
	at := hookAt{depth: depth}
	if judged, ok := in.Payload.(hooks.TaskCompletedInput); ok {
		at.task = judged.TaskID
	}
	return p.register(pid, registration{owner: owner, hook: at})
}

// judgedKey is under what a context has the id of the task whose gate asks for something.
type judgedKey struct{}

// within is the context for what a hook's process asks for. It fails if nobody can say what hook that is:
// then nothing would bound what it begins.
func (p *Processes) within(ctx context.Context, by Caller) (context.Context, error) {
	chain, err := ancestry(by.PID, p.self, readProcess)
	if err != nil {
		return ctx, fmt.Errorf("cannot tell which hook process %d belongs to: %w", by.PID, err)
	}
	r, ok := p.registered(chain, readProcess)
	if !ok || r.hook.depth == 0 {
		return ctx, denied(by, "it belongs to no hook any more")
	}
	return context.WithValue(hooks.Inside(ctx, r.hook.depth), judgedKey{}, r.hook.task), nil
}

// notByItsGate refuses that a task is completed by a gate that is asked whether it may be: the
// gates, that one among them, would be asked again, and so on.
func notByItsGate(ctx context.Context, t tasks.Task) error {
	if judged, _ := ctx.Value(judgedKey{}).(string); judged == t.ID && judged != "" {
		return fmt.Errorf("%w: task %s cannot be completed by a gate that judges it; a gate agrees by exit code 0", ErrDenied, t.ID)
	}
	return nil
}
