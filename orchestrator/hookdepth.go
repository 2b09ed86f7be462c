package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/tasks"
)

// hookRun says what a hook's process is started for.
func hookRun(in hooks.Input, depth int) process.HookRun {
	at := process.HookRun{Depth: depth}
	if judged, ok := in.Payload.(hooks.TaskCompletedInput); ok {
		at.Task = judged.TaskID
	}
	return at
}

// judgedKey is under what a context has the id of the task whose gate asks for something.
type judgedKey struct{}

// withinHook is the context for what a hook's process asks for. It fails if nobody can say what hook that is:
// then nothing would bound what it begins.
func withinHook(ctx context.Context, all *process.Processes, by process.Caller) (context.Context, error) {
	at, err := all.HookOf(by)
	if errors.Is(err, process.ErrNoHook) {
		err = fmt.Errorf("%w: %s: %w", api.ErrDenied, by, err)
	}
	if err != nil {
		return ctx, err
	}
	return context.WithValue(runner.Inside(ctx, at.Depth), judgedKey{}, at.Task), nil
}

// notByItsGate refuses that a task is completed by a gate that is asked whether it may be: the
// gates, that one among them, would be asked again, and so on.
func notByItsGate(ctx context.Context, t tasks.Task) error {
	if judged, _ := ctx.Value(judgedKey{}).(string); judged == t.ID && judged != "" {
		return fmt.Errorf("%w: task %s cannot be completed by a gate that judges it; a gate agrees by exit code 0", api.ErrDenied, t.ID)
	}
	return nil
}
