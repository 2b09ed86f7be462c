package teamhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// RunOf describes the run of a hook, for its process.
func RunOf(in hooks.Input, depth int) process.HookRun {
	at := process.HookRun{Depth: depth}
	if judged, ok := in.Payload.(hooks.TaskCompletedInput); ok {
		at.Task = judged.TaskID
	}
	return at
}

// Within returns the context for a request from a hook's process. It fails if the hook is not
// known, because then nothing would limit nested hooks.
func Within(ctx context.Context, all *process.Processes, by process.Caller) (context.Context, error) {
	at, err := all.HookOf(by)
	if errors.Is(err, process.ErrNoHook) {
		err = fmt.Errorf("%w: %s: %w", api.ErrDenied, by, err)
	}
	if err != nil {
		return ctx, err
	}
	return teamtools.AskedByGateOf(runner.Inside(ctx, at.Depth), at.Task), nil
}
