package orchestrator

import (
	"context"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// gitFor is how git runs on behalf of a team whose process this is not. What it starts is
// known for the team's, and has no rights at the team's control socket.
func gitFor(p state.Place, filters []worktree.Filter) worktree.Git {
	return worktree.Git{Env: []string{p.Mark()}, Filters: func() []worktree.Filter { return filters }}
}

// gitOf is how git runs in the team's own process: besides what gitFor says, its
// processes are registered as nobody's.
func (o *Orchestrator) gitOf(c *crew, warn func(format string, args ...any)) worktree.Git {
	var mu sync.Mutex
	said := map[string]bool{}
	return worktree.Git{
		Env:     []string{o.place.Mark()},
		Filters: func() []worktree.Filter { return o.design.Load().filters },
		Started: func(pid int) func() { return c.processes.Register(pid, process.Owner{Kind: process.Stray}) },
		Withheld: func(w worktree.Withheld) {
			mu.Lock()
			first := !said[w.String()]
			said[w.String()] = true
			mu.Unlock()
			if first {
				warn("%s", w)
			}
		},
	}
}

// git is how git runs for the crew; for one without working copies, as in a test, as for
// any program.
func (c *crew) git() worktree.Git {
	if c.trees == nil {
		return worktree.Git{}
	}
	return c.trees.git
}

// filtersOf are the filters of the repository's own configuration that the spec names, as
// the configuration defines them now. A workspace without a repository has none.
func filtersOf(ctx context.Context, team *configs.Team) []worktree.Filter {
	if len(team.Git.Filters) == 0 {
		return nil
	}
	repo, err := worktree.Git{}.Open(ctx, team.Workspace)
	if err != nil {
		return nil
	}
	filters, err := repo.Config.Filters(ctx, team.Git.Filters)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(filters, func(f worktree.Filter) bool { return !f.Defined() })
}

// filterRuns are these filters as things that the team would run.
func filterRuns(team *configs.Team) []configs.Run {
	var runs []configs.Run
	for _, f := range filtersOf(context.Background(), team) { // each call of git has a time limit of its own
		runs = append(runs, configs.Run{Kind: configs.RunFilter, Command: f.String()})
	}
	return runs
}

// trustedFilters are those of filtersOf that the user trusts: a member may have changed
// the configuration since the team came up.
func trustedFilters(ctx context.Context, team *configs.Team) []worktree.Filter {
	filters := filtersOf(ctx, team)
	if len(filters) == 0 {
		return nil
	}
	key, err := keyOf(team)
	if err != nil {
		return nil
	}
	all, err := readTrust()
	if err != nil {
		return nil
	}
	trusted, _ := all.find(key)
	return slices.DeleteFunc(filters, func(f worktree.Filter) bool {
		run := configs.Run{Kind: configs.RunFilter, Command: f.String()}
		return !slices.ContainsFunc(trusted.Items, func(i TrustItem) bool { return i.Run == run })
	})
}
