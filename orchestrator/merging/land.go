package merging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// land moves the target branch to what was tested. Where the branch is checked out, the
// files move along, unless uncommitted changes are in the way.
//
// The branch must still be at m.Base. Otherwise the tests judged another state, and the
// work is queued again.
func (q *Queue) land(ctx context.Context, m tasks.Merge) (tasks.Merge, error) {
	err := q.pushTarget(ctx, m)
	if err == nil {
		err = q.advance(ctx, m)
	}
	var way *worktree.Obstacle
	switch {
	case err == nil:
		return q.done(ctx, m, "")
	case errors.Is(err, worktree.ErrMoved):
		return q.set(ctx, m, tasks.MergeQueued, m.Into+" has moved since this was tested")
	case errors.As(err, &way):
		m.Files = way.Files
		then := ": commit that or undo it, then run covey merge"
		if way.Withheld != nil {
			then = "; then run covey merge"
		}
		return q.set(ctx, m, tasks.MergeHeld, err.Error()+then)
	}
	return m, err
}

// advance moves the branch, and the files of the working copy that has it checked out.
//
// If only the branch moved, a working copy on it would show all that was merged as
// changes that revert it.
func (q *Queue) advance(ctx context.Context, m tasks.Merge) error {
	there, err := q.Repo.On(ctx, m.Into)
	if err != nil {
		return err
	}
	if there == nil {
		return q.Repo.Move(ctx, ref(m.Into), worktree.Step{From: m.Base, To: m.Result, Why: "covey: " + subject(m)})
	}
	return there.Advance(ctx, m.Result)
}

// Close removes the queue's working copy. It is created again when needed.
func (q *Queue) Close(ctx context.Context) error {
	if err := os.RemoveAll(q.Scratch); err != nil {
		return fmt.Errorf("remove the working copy of merges: %w", err)
	}
	return q.Repo.Release(ctx, q.trial())
}

// prepare writes the receipt, the title and the body of a pull request for the branch of the work. tree is that
// of its result.
//
// covey does not publish it: it has no access to people's accounts, and an unattended team
// should not. With bus it only pushes what must outlive the host. The files are written before the state says so; writing them
// again yields the same.
func (q *Queue) prepare(ctx context.Context, m tasks.Merge, tree string) (tasks.Merge, error) {
	if err := q.Receipts.propose(ctx, m, tree, q.Elsewhere); err != nil {
		return m, err
	}
	verdicts, err := q.Store.Verdicts().About(ctx, m.Subject())
	if err != nil {
		return m, err
	}
	var list []tasks.Task
	for _, id := range m.Tasks {
		if t, err := q.Store.Task(ctx, id); err == nil { // a deleted task has no evidence
			list = append(list, t)
		}
	}
	one, err := reviewOne(ctx, q, m)
	if err != nil {
		return m, err
	}
	found, _ := q.hintsOf(ctx, one)
	p := PullOf(q.Papers, m)
	if err := os.MkdirAll(filepath.Dir(p.Title), 0o700); err != nil {
		return m, fmt.Errorf("write the pull request's files: %w", err)
	}
	for file, text := range map[string]string{p.Title: subject(m) + "\n", p.Body: PullText(m, list, verdicts, found)} {
		if err := os.WriteFile(file, []byte(q.Mask(text)), 0o600); err != nil {
			return m, fmt.Errorf("write the pull request's files: %w", err)
		}
	}
	return q.set(ctx, m, tasks.MergeReady, "")
}

// Pull is what you open a pull request with.
type Pull struct {
	Title, Body string   // files
	Push, Open  []string // the commands for it, in this order
}

// PullOf returns how to open the pull request of a merge whose files are in folder
// papers.
func PullOf(papers string, m tasks.Merge) Pull {
	p := Pull{Title: filepath.Join(papers, m.ID, "title"), Body: filepath.Join(papers, m.ID, "body.md")}
	p.Push = []string{"git", "push", "--set-upstream", "origin", m.Branch}
	if m.Result != "" {
		p.Push = append(p.Push, receipts.Ref(m.Result))
	}
	p.Open = []string{
		"gh", "pr", "create", "--base", m.Into, "--head", m.Branch, "--title", subject(m), "--body-file", p.Body,
	}
	return p
}
