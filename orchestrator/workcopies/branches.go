package workcopies

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// keyBranches is the store key of the branches that the team created and that were not
// removed since: a list of short names.
const keyBranches = "branches"

// made reports whether the team created a branch.
func (r *record) made(branch string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.branches, branch)
}

// acknowledge counts the branch of a copy in the team's folder as the team's, if it is
// one that its member could have got: the store may have been lost.
func (r *record) acknowledge(branch string, possible []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(possible, branch) {
		r.branches = append(r.branches, branch)
	}
}

// claim records that a branch is the team's. Call it after git has created it: a kill
// in between costs a name, while the reverse order could claim a branch that a person
// created since.
func (r *record) claim(ctx context.Context, branch string) error {
	return r.setBranches(ctx, func(all []string) []string {
		if slices.Contains(all, branch) {
			return all
		}
		return append(all, branch)
	})
}

// disclaim removes a branch that was deleted.
func (r *record) disclaim(ctx context.Context, branch string) error {
	return r.setBranches(ctx, func(all []string) []string {
		return slices.DeleteFunc(all, func(b string) bool { return b == branch })
	})
}

// setBranches changes which branches are the team's, and stores them.
func (r *record) setBranches(ctx context.Context, change func([]string) []string) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	r.branches = change(slices.Clone(r.branches))
	all := slices.Clone(r.branches)
	r.mu.Unlock()
	return r.store.Put(ctx, keyBranches, texts.Encode(all))
}

// branchNames returns the names that a member's branch may have, in order of
// preference.
func (t *Trees) branchNames(member string) []string {
	here := filepath.Base(t.deps.Place.Dir) // the team's name and eight digits unique to it
	names := []string{worktree.BranchName(t.deps.Team().Name, member), worktree.BranchName(here, member)}
	for i := 2; i < 10; i++ {
		names = append(names, fmt.Sprintf("%s-%d", worktree.BranchName(here, member), i))
	}
	return names
}
