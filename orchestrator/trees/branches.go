package trees

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// keyBranches is the store key of the branches that the team created and that were not
// removed since: a list of short names.
const keyBranches = "branches"

// branches are those that the team created, in this run or earlier.
type branches struct {
	store  *tasks.Store
	saving sync.Mutex // as in record

	mu  sync.Mutex
	own []string
}

// recall reads them from the store, and adds also.
func (b *branches) recall(ctx context.Context, also []string) error {
	if err := tasks.ReadValue(ctx, b.store, keyBranches, &b.own); err != nil {
		return err
	}
	b.own = append(b.own, also...)
	return nil
}

// made reports whether the team created a branch.
func (b *branches) made(branch string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.own, branch)
}

// acknowledge counts the branch of a copy in the team's folder as the team's, if it is
// one that its member could have got: the store may have been lost.
func (b *branches) acknowledge(branch string, possible []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(possible, branch) {
		b.own = append(b.own, branch)
	}
}

// claim records that a branch is the team's. Call it after git has created it: a kill
// in between costs a name, while the reverse order could claim a branch that a person
// created since.
func (b *branches) claim(ctx context.Context, branch string) error {
	return b.set(ctx, func(all []string) []string {
		if slices.Contains(all, branch) {
			return all
		}
		return append(all, branch)
	})
}

// disclaim removes a branch that was deleted.
func (b *branches) disclaim(ctx context.Context, branch string) error {
	return b.set(ctx, func(all []string) []string {
		return slices.DeleteFunc(all, func(b string) bool { return b == branch })
	})
}

// set changes which branches are the team's, and stores them.
func (b *branches) set(ctx context.Context, change func([]string) []string) error {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	b.own = change(slices.Clone(b.own))
	all := slices.Clone(b.own)
	b.mu.Unlock()
	return b.store.Put(ctx, keyBranches, notation.Encode(all))
}

// branchNames returns the names that a member's branch may have, in order of
// preference.
func (t *Trees) branchNames(member string) []string {
	here := filepath.Base(t.opts.Place.Dir) // the team's name and eight digits unique to it
	names := []string{worktree.BranchName(t.opts.Team().Name, member), worktree.BranchName(here, member)}
	for i := 2; i < 10; i++ {
		names = append(names, fmt.Sprintf("%s-%d", worktree.BranchName(here, member), i))
	}
	return names
}
