package workcopies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Fresh creates the folder in which a member of a team that does not run would begin: a working
// copy that git makes and that is set up as the spec says. environ is for the setup commands;
// doing is called with each. remove removes the copy, and ports are the variables that name its ports.
// Where members have no copies, dir is the workspace.
func Fresh(ctx context.Context, git worktree.Git, team *configs.Team, environ []string, doing func(what string)) (
	dir string, ports []string, remove func() error, err error,
) {
	look := OutlookOf(ctx, team)
	if len(look.Members) == 0 || look.Fault != nil {
		return team.Workspace, nil, func() error { return nil }, nil
	}
	g := groundOf(ctx, git, team)
	if g.fault != nil {
		return "", nil, nil, g.fault
	}
	home, err := state.StateHome()
	if err != nil {
		return "", nil, nil, fmt.Errorf("a fresh working copy: %w", err)
	}
	temp, err := os.MkdirTemp("", "covey-fresh-*")
	if err != nil {
		return "", nil, nil, fmt.Errorf("a fresh working copy: %w", err)
	}
	top := filepath.Join(temp, "copy")
	dir = g.rootIn(top)
	held := &portBlocks{}
	remove = func() error {
		held.close()
		return os.RemoveAll(temp)
	}
	if _, err := g.repo.Clone(ctx, worktree.New{Path: top, Commit: g.base}); err != nil {
		return "", nil, nil, errors.Join(fmt.Errorf("a fresh working copy: %w", err), os.RemoveAll(temp))
	}
	err = setup{
		team: team, deps: Deps{
			Environ: environ, Processes: process.New(process.Unmarked),
			Slots: state.NewSlots(home, func() int { return team.GatesAtOnce }, nil),
		},
		repo: g.repo, warn: func(string, ...any) {}, ports: held, dir: dir, doing: doing, log: filepath.Join(temp, "setup.log"),
	}.run(ctx)
	if err != nil {
		held.close()
		// The log stays, because the error names it.
		return "", nil, nil, errors.Join(err, os.RemoveAll(top))
	}
	return dir, held.of(dir), remove, nil
}
