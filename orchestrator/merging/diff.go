package merging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// DiffRequest selects the changes to show, and how. Without a task and a member it
// selects those of all members.
type DiffRequest struct {
	Task, Member string
	Stat, Color  bool
}

// Diff is what a member has changed.
type Diff struct {
	Title  string `json:"title"`
	Member string `json:"member"`
	From   string `json:"from"` // base commit of the work
	To     string `json:"to"`   // commit of the work, or tree including uncommitted changes
	Text   string `json:"text"` // output of git diff
	// Revised is the part since the version that was sent back and that the work revises; empty: it revises none.
	Revised string `json:"revised,omitempty"`
	// Brings are other pieces of work of which the changes are a part.
	Brings []api.Brought `json:"brings,omitempty"`
	// Own are the files that the work changes itself, if it brings other work.
	Own []string `json:"own,omitempty"`
	// Prefix is the workspace's folder in the repository (worktree.Repo.Prefix).
	Prefix string `json:"prefix,omitempty"`
	// Hints are what a reviewer should look at first, marks first.
	Hints []hints.Hint `json:"hints,omitempty"`
	// Withheld lists the files of the working copy that are not shown, because they
	// have a filter that must not run; empty if all are shown.
	Withheld string `json:"withheld,omitempty"`
}

// ReadDiff returns the changes that a request selects. reviews is what is known of finished work
// (Client.Review, ReadReview). It reads the repository and changes nothing.
func ReadDiff(
	ctx context.Context, p state.Place, team *configs.Team, reviews api.ReviewReply, r DiffRequest,
) ([]Diff, error) {
	repo, err := openRepo(ctx, p, team)
	switch {
	case errors.Is(err, worktree.ErrNoRepo):
		return nil, ErrNoRepo
	case err != nil:
		return nil, fmt.Errorf("diff: %w", err)
	}
	d := differ{queueOf(p, func() *configs.Team { return team }, repo, nil), worktree.DiffOptions{Stat: r.Stat, Color: r.Color}}
	if r.Task != "" {
		return d.ofTask(ctx, reviews.Reviews, r.Task)
	}
	// Copies are found by their place and not by the spec, so that those of former members
	// are shown, too.
	copies, err := workcopies.Copies(ctx, p, repo, nil)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	list := []Diff{}
	for _, c := range copies {
		if r.Member != "" && c.Member != r.Member {
			continue
		}
		one, err := d.ofCopy(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("the work of %s: %w", c.Member, err)
		}
		if one.Text+one.Withheld != "" {
			list = append(list, one)
		}
	}
	if len(list) > 0 || r.Member == "" {
		return list, nil
	}
	return d.ofMember(ctx, reviews.Reviews)
}

// CopyState is what is in the working copy of a member.
type CopyState struct {
	Diff
	Folder      string            `json:"folder"`
	Commits     []worktree.Logged `json:"commits"`     // of the work, newest first
	Uncommitted []string          `json:"uncommitted"` // as git status shows them
}

// ReadCopy returns what is in the working copy of the member of a request. It changes nothing, and runs nothing that the
// copy names.
func ReadCopy(ctx context.Context, p state.Place, team *configs.Team, r DiffRequest) (CopyState, error) {
	repo, err := openRepo(ctx, p, team)
	switch {
	case errors.Is(err, worktree.ErrNoRepo):
		return CopyState{}, ErrNoRepo
	case err != nil:
		return CopyState{}, fmt.Errorf("show: %w", err)
	}
	copies, err := workcopies.Copies(ctx, p, repo, nil)
	if err != nil {
		return CopyState{}, fmt.Errorf("show: %w", err)
	}
	i := slices.IndexFunc(copies, func(c workcopies.Copy) bool { return c.Member == r.Member })
	if i < 0 {
		return CopyState{}, fmt.Errorf("%s has no working copy: it works in %s", r.Member, team.Workspace)
	}
	c := copies[i]
	d := differ{queueOf(p, func() *configs.Team { return team }, repo, nil), worktree.DiffOptions{Stat: r.Stat, Color: r.Color}}
	one, err := d.ofCopy(ctx, c)
	if err != nil {
		return CopyState{}, fmt.Errorf("the work of %s: %w", c.Member, err)
	}
	w := CopyState{Diff: one, Folder: c.Top}
	if w.Commits, err = c.Log(ctx, c.Head.Commit, one.From); err != nil {
		return w, err
	}
	w.Uncommitted, err = c.Dirty(ctx)
	return w, err
}

// WorkDiff is what the merge of a piece of work brings, or why that cannot be read.
type WorkDiff struct {
	Diff
	Err error
}

// ReadDiffs returns what the merges of pieces of work bring or have brought, in order. The repository and
// its configuration are read once, and several calls of git run at a time, because work is often much.
func ReadDiffs(ctx context.Context, p state.Place, team *configs.Team, work []tasks.Merge) iter.Seq2[tasks.Merge, WorkDiff] {
	return func(yield func(tasks.Merge, WorkDiff) bool) {
		repo, err := openRepo(ctx, p, team)
		if err == nil {
			repo, err = repo.Operation(ctx)
		}
		if err != nil {
			err = fmt.Errorf("diff: %w", err)
		}
		d := differ{queueOf(p, func() *configs.Team { return team }, repo, nil), worktree.DiffOptions{}}
		atOnce := 2 * runtime.NumCPU()
		for len(work) > 0 {
			some := work[:min(len(work), atOnce)]
			work = work[len(some):]
			read := make([]WorkDiff, len(some))
			var group sync.WaitGroup
			for i, m := range some {
				if read[i].Err = err; err == nil {
					group.Go(func() { read[i].Diff, read[i].Err = d.of(ctx, api.Review{Merge: m}) })
				}
			}
			group.Wait()
			for i, m := range some {
				if !yield(m, read[i]) {
					return
				}
			}
		}
	}
}

// openRepo opens the repository of a team, which need not run.
func openRepo(ctx context.Context, p state.Place, team *configs.Team) (*worktree.Repo, error) {
	return workcopies.GitFor(p, trust.TrustedFilters(ctx, team)).Open(ctx, team.Workspace)
}

// differ computes differences in one repository.
type differ struct {
	*Queue
	how worktree.DiffOptions
}

// ofTask returns what the work on a task has changed, even if it is merged.
func (d differ) ofTask(ctx context.Context, reviews []api.Review, id string) ([]Diff, error) {
	for _, r := range slices.Backward(reviews) { // a task that was reopened has several; the last counts
		if slices.Contains(r.Tasks, id) {
			one, err := d.of(ctx, r)
			return []Diff{one}, err
		}
	}
	return nil, texts.Errorf(tasks.ErrNotFound, "there is no finished work on task %s; covey diff MEMBER shows unfinished work", id)
}

// ofMember returns the finished work of a member without a working copy.
func (d differ) ofMember(ctx context.Context, reviews []api.Review) ([]Diff, error) {
	list := []Diff{}
	for _, r := range reviews {
		one, err := d.of(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("diff: %w", err)
		}
		list = append(list, one)
	}
	return list, nil
}

// of returns what the merge of a piece of work brings.
func (d differ) of(ctx context.Context, r api.Review) (Diff, error) {
	m := r.Merge
	one := Diff{Title: describe(m), Member: m.Member, From: r.Begins, To: m.Commit, Prefix: d.Repo.Prefix, Brings: r.Brings}
	if one.From == "" { // who asks has the merge alone
		base, _, err := d.counts(ctx, m.Into)
		if err == nil || m.State.Over() {
			b, _ := d.brings(ctx, m, base)
			one.From = b.From
		}
		one.From = cmp.Or(one.From, m.From)
	}
	if len(r.Brings) > 0 {
		if changed, err := d.Repo.Changed(ctx, m.From, m.Commit); err == nil { // else all count as its own
			one.Own = Paths(changed, d.Repo.Prefix)
		}
	}
	if !d.how.Small {
		d.how.First = d.first(r, one.Own)
	}
	if files := d.revised(r, one.Own); len(files) > 0 && !d.how.Small {
		how := d.how
		how.Paths = files
		text, err := d.Repo.Diff(ctx, m.From, m.Commit, how)
		if err != nil {
			return one, err
		}
		one.Revised = string(text)
	}
	text, err := d.Repo.Diff(ctx, one.From, m.Commit, d.how)
	one.Text, one.Hints = string(text), r.Hints
	return one, err
}

// revised returns the files that a piece of work has changed since what it revises was sent back, of those in own: not those
// that came in with the target branch, and if its author had mended it with other work before, only those of the returned piece.
func (d differ) revised(r api.Review, own []string) (paths []string) {
	for i, b := range r.Brings {
		if b.Commit == r.Revises && r.From == r.Revises && i < len(r.Brings)-1 {
			own = b.Changes
		}
	}
	for _, file := range own {
		theirs := slices.ContainsFunc(r.Brings, func(b api.Brought) bool { return slices.Contains(b.Changes, file) })
		if r.Revises != "" && (theirs || slices.Contains(r.Changes, file)) {
			paths = append(paths, path.Join(d.Repo.Prefix, file))
		}
	}
	return paths
}

// first returns the files of a piece of work that a reviewer sees first: those with marks, then others that it changes itself.
func (d differ) first(r api.Review, own []string) (paths []string) {
	for _, h := range r.Hints {
		for _, p := range h.Places {
			if h.Mark && h.Kind != hints.Brings {
				paths = append(paths, path.Join(d.Repo.Prefix, p.File))
			}
		}
	}
	for _, file := range own {
		paths = append(paths, path.Join(d.Repo.Prefix, file))
	}
	return paths
}

// ofCopy returns the changes in a member's working copy, including uncommitted ones.
func (d differ) ofCopy(ctx context.Context, c workcopies.Copy) (Diff, error) {
	one := Diff{Title: c.Member + " (" + c.Head.Branch + ")", Member: c.Member, Prefix: d.Repo.Prefix}
	into, tip, err := d.tip(ctx)
	if err != nil {
		return one, fmt.Errorf("diff: %w", err)
	}
	one.From, err = c.MergeBase(ctx, tip, c.Head.Commit)
	switch {
	case errors.Is(err, worktree.ErrNoRef) || err == nil && one.From == "":
		return one, fmt.Errorf("%s and %s have no commit in common", c.Head.Branch, into)
	case err != nil:
		return one, err
	}
	state, err := c.State(ctx, "")
	if err != nil {
		return one, fmt.Errorf("diff: %w", err)
	}
	one.To = state.Tree
	if len(state.Withheld) > 0 {
		one.Withheld = "not shown, because they have a git filter that must not run: " + strings.Join(state.Withheld, ", ")
	}
	text, err := c.Diff(ctx, one.From, one.To, worktree.DiffOptions{})
	if one.Text = string(text); err != nil {
		return one, err
	}
	one.Hints, _ = d.hintsIn(one, "")
	if d.how.Color || d.how.Stat {
		text, err = c.Diff(ctx, one.From, one.To, d.how)
		one.Text = string(text)
	}
	return one, err
}
