package trust

import (
	"context"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// FiltersOf returns the filters of the repository's own configuration that the spec
// names, as they are currently defined.
func FiltersOf(ctx context.Context, team *configs.Team) []worktree.Filter {
	return worktree.Git{}.FiltersIn(ctx, team.Workspace, team.Git.Filters)
}

// filterRuns returns these filters as things that the team would run.
func filterRuns(team *configs.Team) []Run {
	var out []Run
	for _, f := range FiltersOf(context.Background(), team) { // each call of git has its own time limit
		out = append(out, Run{Kind: Filter, Command: f.String()})
	}
	return out
}

// TrustedFilters returns those of FiltersOf that the user trusts: a member may have
// changed the configuration since the team started.
func TrustedFilters(ctx context.Context, team *configs.Team) []worktree.Filter {
	filters := FiltersOf(ctx, team)
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
		run := Run{Kind: Filter, Command: f.String()}
		return !slices.ContainsFunc(trusted.Items, func(i Item) bool { return i.Run == run })
	})
}
