package merging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// test runs the gates on the commit m.Result. held is the question that has to be answered before.
func (q *Queue) test(ctx context.Context, m tasks.Merge) (refusal, held string, err error) {
	scratch, err := q.scratch(ctx, m.Result)
	if err != nil {
		return "", "", fmt.Errorf("a working copy for the merged state: %w", err)
	}
	if q.Watch != nil {
		if held, err = q.Watch.Rules(ctx); held != "" || err != nil {
			return "", held, err
		}
	}
	refusal, err = q.Gates(ctx, Trial{Merge: m, Copy: scratch})
	return refusal, "", err
}

// scratch returns the queue's own working copy with commit checked out. If a crash or a
// gate damaged it, or what decides about checkouts has changed, it is created again.
//
// It is kept between merges, because setup may install all that a project needs. The
// caller holds q.working, so that no two gates use it at once.
func (q *Queue) scratch(ctx context.Context, commit string) (*worktree.Repo, error) {
	if err := q.Repo.Keep(ctx, q.trial(), commit); err != nil { // no branch has it
		return nil, err
	}
	if r, err := q.Repo.AtClone(ctx, q.Scratch); err == nil {
		// Nobody else works there, so a killed git left this lock.
		_ = os.Remove(filepath.Join(r.GitDir, "index.lock"))
		if err := q.again(ctx, r, commit); err == nil {
			return r, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create it again: %w", err)
	}
	if err := os.RemoveAll(q.Scratch); err != nil {
		return nil, fmt.Errorf("create it again: %w", err)
	}
	r, err := q.Repo.Clone(ctx, worktree.New{Path: q.Scratch, Commit: commit})
	if err != nil {
		return nil, fmt.Errorf("create it again: %w", err)
	}
	if err := q.Prepare(ctx, q.Scratch); err != nil {
		return nil, errors.Join(err, q.Close(ctx)) // a half prepared copy is worse than none
	}
	return r, nil
}

// again prepares the queue's working copy for another commit.
func (q *Queue) again(ctx context.Context, copy *worktree.Repo, commit string) error {
	rules, err := q.Repo.CheckoutRules(ctx)
	if err != nil {
		return err
	}
	own, err := copy.CheckoutRules(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(rules, own) {
		return errors.New("it would check out other files")
	}
	if err := q.Repo.Update(ctx, copy); err != nil {
		return err
	}
	return copy.Switch(ctx, commit)
}

// trial is the reference that keeps the commit under test.
func (q *Queue) trial() string { return "refs/covey/trial/" + filepath.Base(filepath.Dir(q.Scratch)) }
