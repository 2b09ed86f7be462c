package trees

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// showLimit is how long `covey ps` waits to hear of working copies.
const showLimit = 2 * time.Second

// Status is a member's working copy as `covey ps` shows it.
type Status struct {
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"` // empty: none, or git does not know the copy
	Dirty  int    `json:"dirty"`            // files and folders that git status shows
	Ahead  int    `json:"ahead"`            // commits that are not in the branch for finished work
	// Unknown says that git did not answer in time; Dirty and Ahead mean nothing then.
	Unknown bool `json:"unknown,omitempty"`
}

// Status tells what the working copies of some members are like: in their order, nil for
// those who work in the workspace.
func (t *Trees) Status(ctx context.Context, members []string) []*Status {
	ctx, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	list := make([]*Status, len(members))
	var looking sync.WaitGroup
	for i, member := range members {
		if own, ok := t.Of(member); ok {
			looking.Go(func() { list[i] = t.show(ctx, own) })
		}
	}
	looking.Wait()
	return list
}

// show looks at one working copy.
func (t *Trees) show(ctx context.Context, own Tree) *Status {
	st := &Status{Path: own.Top, Branch: own.Branch, Unknown: own.Branch == ""}
	if t.ground.repo == nil || own.Branch == "" {
		return st
	}
	target, err := t.ground.target(ctx, t.opts.Team().Merge.Into)
	if err == nil {
		err = st.look(ctx, t.ground.repo, target)
	}
	st.Unknown = err != nil
	return st
}

// look asks git. Finished work is in the commit target.
func (st *Status) look(ctx context.Context, repo *worktree.Repo, target string) error {
	own, err := repo.At(ctx, st.Path)
	if err != nil {
		return err
	}
	dirty, err := own.Dirty(ctx)
	if err != nil {
		return err
	}
	head, err := own.Head(ctx)
	if err != nil {
		return err
	}
	st.Dirty, st.Branch = len(dirty), head.Branch
	st.Ahead, err = own.Ahead(ctx, target, head.Commit)
	return err
}

// PlaceText tells a member's model where it works and how its work gets to the others.
func (t *Trees) PlaceText(m *roster.Member, workspace string) string {
	own, has := t.Of(m.Name)
	if !has {
		return fmt.Sprintf("You work in %s.", workspace)
	}
	if own.Branch == "" {
		return fmt.Sprintf("You work in %s, a working copy of your own: nobody else changes files there.", m.Dir)
	}
	return fmt.Sprintf("You work in %s, a git working copy of your own on the branch %s. Nobody else changes files there, "+
		"and you see nobody else's changes before they are merged. Others get your work by your commits: commit all that "+
		"belongs to a task on this branch before you say that it is done. Stay on the branch and out of other working copies, "+
		"and do not use git stash, which all working copies share.", m.Dir, own.Branch)
}

// BranchesText tells members whose work is on which branch; empty: everybody works
// in the workspace.
func (t *Trees) BranchesText() string {
	var lines []string
	for name, own := range t.record.each() {
		if _, ok := t.record.settled(name); ok && own.Branch != "" {
			lines = append(lines, fmt.Sprintf("- %s: %s", name, own.Branch))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\nWho works on which branch (`git log BRANCH` and `git diff HEAD...BRANCH` show it):\n" +
		strings.Join(lines, "\n") + "\n"
}

// AuthorEnv are variables that give a member's commits an author where git knows none: on
// a machine where nobody has told git who they are, a member could not commit.
func (t *Trees) AuthorEnv(member string) []string {
	if _, has := t.Of(member); !has || t.user != (worktree.Person{}) || os.Getenv("GIT_AUTHOR_EMAIL") != "" {
		return nil
	}
	address := member + "@" + t.opts.Team().Name + ".covey.invalid"
	return []string{
		"GIT_AUTHOR_NAME=" + member, "GIT_AUTHOR_EMAIL=" + address,
		"GIT_COMMITTER_NAME=" + member, "GIT_COMMITTER_EMAIL=" + address,
	}
}
