package merging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// land moves the branch to what was tested. Where somebody has it checked out, their
// files come along, if nothing of theirs is in the way.
//
// Only m.Base as the branch's old place will do. Anything else means that the tests were
// about another state, and the work goes through all of it again.
func (q *Queue) land(ctx context.Context, m tasks.Merge) (tasks.Merge, error) {
	err := q.advance(ctx, m)
	var way *worktree.Obstacle
	switch {
	case err == nil:
		return q.done(ctx, m, "")
	case errors.Is(err, worktree.ErrMoved):
		return q.set(ctx, m, tasks.MergeQueued, m.Into+" has moved since this was tested")
	case errors.As(err, &way):
		m.Files = way.Files
		then := ": commit that or take it back, then run covey merge"
		if way.Withheld != nil {
			then = "; then run covey merge"
		}
		return q.set(ctx, m, tasks.MergeHeld, err.Error()+then)
	}
	return m, err
}

// advance moves the branch, and the files of the working copy that is on it.
//
// A branch that is checked out may not be moved behind the back of its working copy: all
// that was merged would look there like changes that take it back. A copy whose folder
// is gone is in nobody's way.
func (q *Queue) advance(ctx context.Context, m tasks.Merge) error {
	copies, err := q.Repo.Copies.List(ctx)
	if err != nil {
		return err
	}
	for _, c := range copies {
		if c.Branch != m.Into || c.Bare || c.Gone != "" {
			continue
		}
		there, err := q.Repo.At(ctx, c.Path)
		if err != nil {
			return fmt.Errorf("%s is checked out in %s: %w", m.Into, c.Path, err)
		}
		if q.Landing != nil {
			defer q.Landing()()
		}
		return there.Advance(ctx, m.Result)
	}
	return q.Repo.Move(ctx, ref(m.Into), worktree.Step{From: m.Base, To: m.Result, Why: "covey: " + subject(m)})
}

// Close removes the queue's working copy. It is made anew when it is needed.
func (q *Queue) Close(ctx context.Context) error {
	if q.Repo.Copies.Discard(ctx, q.Scratch) == nil {
		return nil
	}
	// git does not know it, or not as it lies there now.
	if err := os.RemoveAll(q.Scratch); err != nil {
		return fmt.Errorf("the working copy of merges: %w", err)
	}
	copies, err := q.Repo.Copies.List(ctx)
	if err != nil {
		return err
	}
	for _, c := range copies {
		if c.Path == q.Scratch {
			return q.Repo.Copies.Discard(ctx, q.Scratch)
		}
	}
	return nil
}

// prepare leaves what a pull request is opened with: the branch, which is there, a
// title and the evidence.
//
// covey pushes nothing itself: it has no business with people's accounts, and a team
// that nobody watches should not publish. The papers are written before the state says
// that they are there; written twice they are the same.
func (q *Queue) prepare(ctx context.Context, m tasks.Merge) (tasks.Merge, error) {
	verdicts, err := q.Store.Verdicts().About(ctx, m.Subject())
	if err != nil {
		return m, err
	}
	p := PullOf(q.Papers, m)
	if err := os.MkdirAll(filepath.Dir(p.Title), 0o700); err != nil {
		return m, fmt.Errorf("papers of a pull request: %w", err)
	}
	for file, text := range map[string]string{p.Title: subject(m) + "\n", p.Body: evidence(m, verdicts)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return m, fmt.Errorf("papers of a pull request: %w", err)
		}
	}
	return q.set(ctx, m, tasks.MergeReady, "")
}

// Pull is what a pull request is opened with.
type Pull struct {
	Title, Body string   // files
	Push, Open  []string // the commands for it, in this order
}

// PullOf says how the pull request of a merge is opened, with the papers in a folder.
func PullOf(papers string, m tasks.Merge) Pull {
	p := Pull{Title: filepath.Join(papers, m.ID, "title"), Body: filepath.Join(papers, m.ID, "body.md")}
	p.Push = []string{"git", "push", "--set-upstream", "origin", m.Branch}
	p.Open = []string{
		"gh", "pr", "create", "--base", m.Into, "--head", m.Branch, "--title", subject(m), "--body-file", p.Body,
	}
	return p
}
