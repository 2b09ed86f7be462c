package merging

import (
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// queueOf returns the queue of a team, without gates and approvals.
func queueOf(p state.Place, team func() *configs.Team, repo *worktree.Repo, store *tasks.Store) *Queue {
	dir, err := filepath.EvalSymlinks(p.Dir) // git lists its copies by their real paths
	if err != nil {
		dir = p.Dir
	}
	q := &Queue{
		Rules: func() Rules { return rulesOf(team()) }, Repo: repo, Store: store,
		Scratch: filepath.Join(dir, "merge"), Papers: p.Pulls(), Home: "covey/" + filepath.Base(p.Dir),
	}
	if store != nil {
		q.Watch = &Watch{Repo: repo, Store: store}
	}
	return q
}

// rulesOf returns what a spec says about merging.
//
// Queue calls it each time, because the spec of a running team can change. A member
// without Owns has no entry and may write everything; an empty list allows nothing.
func rulesOf(team *configs.Team) Rules {
	r := Rules{
		Into: team.Merge.Into, Pull: team.Merge.Via == configs.ViaPR,
		PerMember: team.Merge.Per == configs.PerMember, Auto: team.Merge.Given,
		Owns: map[string][]string{}, Protect: team.Protect,
	}
	for _, m := range team.Members() {
		r.Members = append(r.Members, m.Name)
		if m.Owns != nil {
			r.Owns[m.Name] = m.Owns
		}
	}
	for _, h := range team.Merge.Gates {
		r.Approve = r.Approve || h.Approver != ""
	}
	return r
}
