package teamhooks

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
)

// TryGate runs one command gate without a team, in about.Cwd, with the scripts of the workspace.
// Its input has no task. It gets the variables ports in addition to those of a team.
func TryGate(ctx context.Context, team *configs.Team, g Gate, about hooks.Common, ports []string) (hooks.Outcome, error) {
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return hooks.Outcome{}, fmt.Errorf("try a gate: %w", err)
	}
	in, err := hooks.ParseInput(g.Event, []byte("{}"), about)
	if err != nil {
		return hooks.Outcome{}, fmt.Errorf("try a gate: %w", err)
	}
	spill, err := os.MkdirTemp("", "covey-gate-*")
	if err != nil {
		return hooks.Outcome{}, fmt.Errorf("try a gate: %w", err)
	}
	defer os.RemoveAll(spill)
	bin, err := os.Executable()
	if err != nil {
		return hooks.Outcome{}, fmt.Errorf("try a gate: %w", err)
	}
	section := hooks.Settings{g.Event: {{Hooks: []hooks.Handler{g.Handler}}}}
	hookRunner, err := runner.New([]settings.Source{{Name: team.File, Settings: section}}, &runner.Options{
		Env:        slices.Concat(launch.HandEnvironment(bin, place), ports),
		ProjectDir: team.Workspace, SpillDir: spill,
		GateSlot: func(ctx context.Context, _ hooks.Input) (func(), error) {
			return state.NewSlots(place.Home(), func() int { return team.GatesAtOnce }, nil).Acquire(ctx, "")
		},
		Locate: func(_ hooks.Input, h hooks.Handler) (string, []string) { return team.Located(h) },
	})
	if err != nil {
		return hooks.Outcome{}, fmt.Errorf("try a gate: %w", err)
	}
	out, err := hookRunner.Run(ctx, in, nil)
	if err != nil {
		return out, fmt.Errorf("try a gate: %w", err)
	}
	return out, nil
}
