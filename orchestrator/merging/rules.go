package merging

import (
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// queueOf returns the queue of a team, without gates and approvals.
func queueOf(p state.Place, team func() *configs.Team, repo *worktree.Repo, store *tasks.Store) *Queue {
	dir, err := filepath.EvalSymlinks(p.Dir) // git knows its copies by their real paths
	if err != nil {
		dir = p.Dir
	}
	q := &Queue{
		Team: team, Repo: repo, Store: store,
		Scratch: filepath.Join(dir, "merge"), Papers: p.Pulls(), Home: "covey/" + filepath.Base(p.Dir),
	}
	if store != nil {
		q.Watch = &Watch{Repo: repo, Store: store}
	}
	return q
}

// owns returns what a member may write. Nil means everything, an empty list nothing.
func (q *Queue) owns(member string) []string {
	for m := range q.Team().Each() {
		if m.Name == member {
			return m.Owns
		}
	}
	return nil
}

// allNeedApproval reports whether all work needs an approval, and not only that on protected files.
func (q *Queue) allNeedApproval() bool {
	return slices.ContainsFunc(q.Team().Merge.Gates, func(h hooks.Handler) bool { return h.Approver != "" })
}
