package workcopies

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// showLimit is how long `covey ps` waits for the state of working copies.
const showLimit = 2 * time.Second

// Status is the state of a member's working copy as `covey ps` shows it.
type Status struct {
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"` // empty: none, or not a git working copy
	Dirty  int    `json:"dirty"`            // files and folders that git status shows
	Ahead  int    `json:"ahead"`            // commits that are not in the target branch
	// Added and Removed count lines since the branch left the target branch, committed or not.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
	// Unknown means that git did not answer in time; the numbers are then meaningless.
	Unknown bool `json:"unknown,omitempty"`
}

// Status returns the state of the working copies of some members: in their order, nil
// for those that work in the workspace.
func (t *Trees) Status(ctx context.Context, members []string) []*Status {
	ctx, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	// Each goroutine writes one element, so no lock is needed.
	list := make([]*Status, len(members))
	target := sync.OnceValues(func() (string, error) { return t.ground.target(ctx, t.deps.Team().Merge.Into) })
	var looking sync.WaitGroup
	for i, member := range members {
		if own, ok := t.Of(member); ok {
			looking.Go(func() { list[i] = t.show(ctx, own, target) })
		}
	}
	looking.Wait()
	return list
}

// show returns the state of one working copy. target finds the commit that contains finished
// work.
func (t *Trees) show(ctx context.Context, own Tree, target func() (string, error)) *Status {
	st := &Status{Path: own.Top, Branch: own.Branch, Unknown: own.Branch == ""}
	if t.ground.repo == nil || own.Branch == "" {
		return st
	}
	commit, err := target()
	if err == nil {
		err = t.look(ctx, own, st, commit)
	}
	st.Unknown = err != nil
	return st
}

// look reads the state of a working copy with git. The commit target contains finished work.
func (t *Trees) look(ctx context.Context, tree Tree, st *Status, target string) error {
	own, head, err := t.open(ctx, tree)
	if err != nil {
		return err
	}
	if own, err = own.Operation(ctx); err != nil {
		return err
	}
	dirty, err := own.Dirty(ctx)
	if err != nil {
		return err
	}
	st.Dirty, st.Branch = len(dirty), head.Branch
	if st.Ahead, err = own.Ahead(ctx, target, head.Commit); err != nil || st.Ahead+st.Dirty == 0 {
		return err
	}
	st.Added, st.Removed, err = worktree.Lines(ctx, own, target)
	return err
}

// PlaceText tells a member's model where it works and how others get its work.
func (t *Trees) PlaceText(m *members.Member, workspace string) string {
	own, has := t.Of(m.Name)
	if !has {
		return fmt.Sprintf("You work in %s.", workspace)
	}
	servers := ""
	if n := len(t.Ports(m.Name)); n > 0 {
		servers = fmt.Sprintf(" Let servers listen on the ports in $COVEY_PORT_0 to $COVEY_PORT_%d, which no other member gets.", n-1)
	}
	if own.Branch == "" {
		return fmt.Sprintf("You work in %s, your own working copy: nobody else changes files there.", m.Dir) + servers
	}
	return fmt.Sprintf("You work in %s, your own git working copy on the branch %s. Nobody else changes files there, "+
		"and you see nobody else's changes before they are merged. Others get your work through your commits: commit all that "+
		"belongs to a task on this branch before you say that it is done. `git fetch covey` brings what was merged meanwhile. "+
		"Stay out of other working copies.", m.Dir, own.Branch) + servers
}

// BranchesText tells members whose work is on which branch; empty if all members share
// the workspace.
func (t *Trees) BranchesText() string {
	var lines []string
	for name, own := range t.record.each() {
		if _, ok := t.record.member(name); ok && own.Branch != "" {
			lines = append(lines, fmt.Sprintf("- %s: %s", name, own.Branch))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\nWho works on which branch (in your own working copy, `git fetch covey` and `git log covey/BRANCH` show it; in the workspace, " +
		"`git log BRANCH`):\n" +
		strings.Join(lines, "\n") + "\n"
}

// AuthorEnv returns variables that set the author of a member's commits where git has
// no configured user, because git would refuse to commit. Else they set it for the operator's
// checkout alone, so that what a script of the member commits there is known as the member's.
func (t *Trees) AuthorEnv(member string) []string {
	if _, has := t.Of(member); !has || os.Getenv("GIT_AUTHOR_EMAIL") != "" {
		return nil
	}
	address := member + t.domain()
	if t.user == (worktree.Person{}) {
		return []string{
			"GIT_AUTHOR_NAME=" + member, "GIT_AUTHOR_EMAIL=" + address,
			"GIT_COMMITTER_NAME=" + member, "GIT_COMMITTER_EMAIL=" + address,
		}
	}
	if t.ground.repo == nil {
		return nil
	}
	file := filepath.Join(t.deps.Place.Scratch(), member+".gitconfig")
	var text strings.Builder
	for _, section := range []string{"user", "author", "committer"} {
		fmt.Fprintf(&text, "[%s]\n\tname = %s\n\temail = %s\n", section, member, address)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.notices.warn("what %s commits in your checkout by a script will look like yours: %v", member, err)
		return nil
	}
	// Not GIT_CONFIG_KEY_0: agent programs drop variables whose names look like those of secrets.
	return []string{"GIT_CONFIG_PARAMETERS=" + t.ground.repo.Include(file)}
}

// domain is the end of the addresses of AuthorEnv.
func (t *Trees) domain() string { return "@" + t.deps.Team().Name + ".covey.invalid" }

// Author returns the member with an address of AuthorEnv; empty: it is nobody's.
func (t *Trees) Author(address string) string {
	member, ok := strings.CutSuffix(address, t.domain())
	if !ok {
		return ""
	}
	return member
}

// Copy is a working copy that git knows, of a member of a team that need not run.
type Copy struct {
	*worktree.Repo
	Member string
	Head   worktree.Head // what it has checked out
}

// Copies lists the working copies of a team that are repositories of their own, or of the workspace's
// repository. made has the members of those that hooks have made, by top folder. What cannot be opened
// is left out.
func Copies(ctx context.Context, p state.Place, repo *worktree.Repo, made map[string]string) ([]Copy, error) {
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		return nil, state.FolderError(err)
	}
	in := filepath.Join(dir, filepath.Base(p.Worktrees()))
	names, err := clones(in)
	if err != nil {
		return nil, err
	}
	base := baseIn(dir, repo)
	var list []Copy
	for _, member := range names {
		if copy, head, err := base.Open(ctx, filepath.Join(in, member), ""); err == nil {
			list = append(list, Copy{copy, member, head})
		}
	}
	for _, top := range slices.Sorted(maps.Keys(made)) {
		if copy, head, err := repo.AtHead(ctx, top); err == nil {
			list = append(list, Copy{copy, made[top], head})
		}
	}
	return list, ctx.Err()
}
