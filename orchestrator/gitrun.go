package orchestrator

import (
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// gitFor is how git runs on behalf of a team whose process this is not. What it starts is
// known for the team's, and has no rights at the team's control socket.
func gitFor(p state.Place, filters []worktree.Filter) worktree.Git {
	return worktree.Git{Env: []string{p.Mark()}, Filters: func() []worktree.Filter { return filters }}
}
