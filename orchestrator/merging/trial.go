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

// test runs the gates on the commit m.Result. held is the question that has to be answered before.
func (q *Queue) test(ctx context.Context, m tasks.Merge) (refusal, held string, err error) {
	scratch, err := q.scratch(ctx, m.Result)
	if err != nil {
		return "", "", fmt.Errorf("a working copy for the merged state: %w", err)
	}
	if q.Watch != nil {
		if held, err = q.Watch.Rules(ctx, scratch); held != "" || err != nil {
			return "", held, errors.Join(err, q.Close(ctx)) // its files and its index would stay as they are
		}
	}
	refusal, err = q.Gates(ctx, Trial{Merge: m, Copy: scratch})
	return refusal, "", err
}

// scratch returns the queue's own working copy with commit checked out. If a crash or a
// gate damaged it, it is created again.
//
// It is kept between merges, because setup may install all that a project needs. The
// caller holds q.working, so that no two gates use it at once.
func (q *Queue) scratch(ctx context.Context, commit string) (*worktree.Repo, error) {
	if r, err := q.Repo.At(ctx, q.Scratch); err == nil && r.Top == q.Scratch {
		// Nobody else works there, so a killed git left this lock.
		_ = os.Remove(filepath.Join(r.GitDir, "index.lock"))
		if err := r.Switch(ctx, commit); err == nil {
			return r, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create it again: %w", err)
	}
	if err := q.Close(ctx); err != nil {
		return nil, fmt.Errorf("create it again: %w", err)
	}
	if err := q.Repo.DetachCopy(ctx, q.Scratch, commit); err != nil {
		return nil, fmt.Errorf("create it again: %w", err)
	}
	if err := q.Prepare(ctx, q.Scratch); err != nil {
		return nil, errors.Join(err, q.Close(ctx)) // a half prepared copy is worse than none
	}
	return q.Repo.At(ctx, q.Scratch)
}
