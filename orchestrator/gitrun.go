package orchestrator

import (
	"context"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// gitFor is how git runs on behalf of a team whose process this is not. What it starts is
// known for the team's, and has no rights at the team's control socket.
func gitFor(p state.Place, filters []worktree.Filter) worktree.Git {
	return worktree.Git{Env: []string{p.Mark()}, Filters: func() []worktree.Filter { return filters }}
}

// filtersOf are the filters of the repository's own configuration that the spec names, as
// the configuration defines them now.
func filtersOf(ctx context.Context, team *configs.Team) []worktree.Filter {
	return worktree.Git{}.FiltersIn(ctx, team.Workspace, team.Git.Filters)
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
