package hooking

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

// RunOf says what a hook's process is started for.
func RunOf(in hooks.Input, depth int) process.HookRun {
	at := process.HookRun{Depth: depth}
	if judged, ok := in.Payload.(hooks.TaskCompletedInput); ok {
		at.Task = judged.TaskID
	}
	return at
}

// Within returns the context for what a hook's process asks for. It fails if it is not
// known what hook that is: then nothing would bound what it begins.
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
