package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/boxes"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Shell is what a person's program needs to work where a member works, held to what the member's
// programs are held to.
type Shell struct {
	Dir string // the member's folder
	Env []string
	Kit *boxes.Kit // its sandbox; nil: it has none
}

// ShellOf returns the Shell of a member of a team, which need not run. bin is the path of covey.
func ShellOf(ctx context.Context, team *configs.Team, place state.Place, bin, member string) (Shell, error) {
	if err := process.HideMemory(); err != nil {
		return Shell{}, fmt.Errorf("hide the memory of this process: %w", err)
	}
	spec := &configs.Member{Name: member, Sandbox: team.Sandbox} // one that was added while the team ran
	for m := range team.Each() {
		if m.Name == member {
			spec = m
		}
	}
	top, err := filepath.EvalSymlinks(filepath.Join(place.Worktrees(), member))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Shell{}, fmt.Errorf("find the working copy of %s: %w", member, err)
	}
	m := &members.Member{Member: spec, Lead: member == team.Lead.Name, Dir: team.Workspace}
	if top != "" {
		m.Dir = filepath.Join(top, belowRepository(team.Workspace))
	}
	all := boxes.New(boxes.Deps{
		Place: place, Bin: bin, Environ: launch.Environment(os.Environ()),
		Team:    func() *configs.Team { return team },
		CopyOf:  func(string) (string, bool) { return top, top != "" },
		Support: systemSupport, Tell: func(string, events.Data) {},
	})
	if err := all.Ready(ctx, m); err != nil {
		return Shell{}, err
	}
	kit := all.Of(member)
	return Shell{Dir: m.Dir, Env: append(launch.HandEnvironment(bin, place), kit.Env()...), Kit: kit}, nil
}

// belowRepository returns where a folder is in the git repository that it is in; empty: at its top, or in none.
func belowRepository(dir string) string {
	for top := dir; ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			rel, err := filepath.Rel(top, dir)
			if err != nil || rel == "." {
				return ""
			}
			return rel
		}
		if top == filepath.Dir(top) {
			return ""
		}
	}
}
