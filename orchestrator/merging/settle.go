package merging

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// mendedBefore reports whether a task after which nothing has changed adds nothing to be merged. A task
// to revise returned work does if its author has mended that in other work since: m then begins at the
// returned commit, so that people see what became of it.
func (q *Queue) mendedBefore(ctx context.Context, m *tasks.Merge, tip string, t *tasks.Task, earlier []tasks.Merge) (nothing bool, err error) {
	i := slices.IndexFunc(earlier, func(e tasks.Merge) bool {
		return t != nil && e.State == tasks.MergeReturned && e.Fix == t.ID && e.Commit != m.Commit
	})
	if i < 0 {
		return true, nil
	}
	back := earlier[i].Commit
	contained, err := q.Repo.Holds(ctx, m.Commit, back)
	if err != nil || !contained {
		return true, err
	}
	if merged, err := q.Repo.Holds(ctx, tip, m.Commit); err != nil || merged {
		return true, err
	}
	changes, err := q.own(ctx, q.Repo, m.Member, back, m.Commit)
	if len(changes) > 0 {
		m.From = back
	}
	return len(changes) == 0, err
}

// settle has returned work reviewed again that nobody revises any more: the task for that was deleted, or
// its work, if there is any, does not contain what was returned. harvested reports whether
// the work on a completed task is known.
func (q *Queue) settle(ctx context.Context, harvested func(tasks.Task) bool) error {
	all, err := q.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("settle returned work: %w", err)
	}
	for _, m := range all {
		if m.State != tasks.MergeReturned || m.Fix == "" {
			continue
		}
		next, err := q.settled(ctx, m, all, harvested)
		if err == nil && next.State != m.State {
			_, err = q.move(ctx, next, nil)
		}
		if unlessConflict(err) != nil {
			return fmt.Errorf("settle returned work: %w", err)
		}
	}
	return nil
}

// settled returns what becomes of returned work; m itself if its author still has it. What a person sent
// back waits for a person again; what the queue returned is tried again.
func (q *Queue) settled(ctx context.Context, m tasks.Merge, all []tasks.Merge, harvested func(tasks.Task) bool) (tasks.Merge, error) {
	why := fmt.Sprintf("task %s, which was to revise it, is completed and has not changed it", m.Fix)
	t, err := q.Store.Task(ctx, m.Fix)
	switch {
	case errors.Is(err, tasks.ErrNotFound):
		why = fmt.Sprintf("task %s, which was to revise it, was deleted", m.Fix)
	case err != nil || t.Status != tasks.Completed || !harvested(t):
		return m, err
	}
	for _, o := range all {
		if !slices.Contains(o.Tasks, m.Fix) {
			continue
		}
		held, err := q.Repo.Holds(ctx, o.Commit, m.Commit)
		switch {
		case err != nil:
			return m, err
		case held && o.State == tasks.MergeDropped:
			m.State, m.Reason = tasks.MergeDropped, fmt.Sprintf("task %s has taken it back", m.Fix)
			return m, nil
		case held:
			return m, nil // it comes with that work
		}
	}
	m.State, m.Reason, m.Files, m.Fix = tasks.MergeQueued, why, nil, ""
	if m.Refused {
		m.State, m.Refused = tasks.MergeWaiting, false
	}
	return m, nil
}

// settle is Queue.settle for what the members of the team have done so far.
func (d *Merger) settle(ctx context.Context) error {
	return d.queue.settle(ctx, func(t tasks.Task) bool { return d.harvested(t) || !d.hasCopy(t.Owner) })
}
