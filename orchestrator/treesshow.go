package orchestrator

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/worktree"
)

// showLimit is how long `covey ps` waits to hear of working copies.
const showLimit = 2 * time.Second

// WorktreeStatus is a member's working copy in a MemberStatus.
type WorktreeStatus struct {
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"` // empty: none, or git does not know the copy
	Dirty  int    `json:"dirty"`            // files and folders that git status shows
	Ahead  int    `json:"ahead"`            // commits that are not in the branch for finished work
	// Unknown says that git did not answer in time; Dirty and Ahead mean nothing then.
	Unknown bool `json:"unknown,omitempty"`
}

// showTrees fills in what members' working copies are like.
func (c *crew) showTrees(ctx context.Context, members []MemberStatus) {
	if c.trees == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	known := c.trees.known()
	var looking sync.WaitGroup
	for i := range members {
		s, ok := c.seat(members[i].Name)
		own, has := known[members[i].Name]
		if !ok || !has || s.tree == nil {
			continue
		}
		looking.Go(func() { members[i].Worktree = c.trees.show(ctx, own) })
	}
	looking.Wait()
}

// show looks at one working copy.
func (t *trees) show(ctx context.Context, own ownTree) *WorktreeStatus {
	st := &WorktreeStatus{Path: own.Top, Branch: own.Branch, Unknown: own.Branch == ""}
	if t.repo == nil || own.Branch == "" {
		return st
	}
	repo, err := t.repo.At(ctx, own.Top)
	if err == nil {
		err = st.look(ctx, t, repo)
	}
	st.Unknown = err != nil
	return st
}

// look asks git.
func (st *WorktreeStatus) look(ctx context.Context, t *trees, repo *worktree.Repo) error {
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	target, err := t.target(ctx)
	if err != nil {
		return err
	}
	st.Dirty, st.Branch = len(dirty), head.Branch
	st.Ahead, err = repo.Ahead(ctx, target, head.Commit)
	return err
}

// placeText tells a member's model where it works and how its work gets to the
// others.
func (s *seat) placeText(workspace string) string {
	if s.tree == nil {
		return fmt.Sprintf("You work in %s.", workspace)
	}
	if s.tree.Branch == "" {
		return fmt.Sprintf("You work in %s, a working copy of your own: nobody else changes files there.", s.member.Dir)
	}
	return fmt.Sprintf("You work in %s, a git working copy of your own on the branch %s. Nobody else changes files there, "+
		"and you see nobody else's changes before they are merged. Others get your work by your commits: commit all that "+
		"belongs to a task on this branch before you say that it is done. Stay on the branch and out of other working copies, "+
		"and do not use git stash, which all working copies share.", s.member.Dir, s.tree.Branch)
}

// branchesText tells members whose work is on which branch; empty: everybody works
// in the workspace.
func (c *crew) branchesText() string {
	if c == nil || c.trees == nil {
		return ""
	}
	var lines []string
	for name, own := range c.trees.ours() {
		if _, ok := c.seat(name); ok && own.Branch != "" {
			lines = append(lines, fmt.Sprintf("- %s: %s", name, own.Branch))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\nWho works on which branch (`git log BRANCH` and `git diff HEAD...BRANCH` show it):\n" +
		strings.Join(lines, "\n") + "\n"
}

// nameless are variables that give commits an author where git knows none: on a
// machine where nobody has told git who they are, a member could not commit.
func (t *trees) nameless(s *seat) []string {
	if t == nil || s.tree == nil || t.user != (worktree.Person{}) || os.Getenv("GIT_AUTHOR_EMAIL") != "" {
		return nil
	}
	name, address := s.member.Name, s.member.Name+"@"+t.o.team().Name+".covey.invalid"
	return []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + address,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + address,
	}
}
