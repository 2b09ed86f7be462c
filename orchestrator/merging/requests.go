package merging

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// ErrNoRepo: members work in the files of a workspace themselves, because it is no git repository.
var ErrNoRepo = errors.New("the workspace is no git repository, so there is nothing to merge or compare; " +
	"`git init` and a first commit give members copies of their own")

// Merge queues the work that the operator requests. Serve merges it.
func (d *Merger) Merge(ctx context.Context, r api.MergeRequest) (api.MergeReply, error) {
	if !d.hasRepo() {
		return api.MergeReply{}, ErrNoRepo
	}
	if r.Force && (r.All || r.Unmarked) {
		return api.MergeReply{}, texts.Errorf(tasks.ErrInvalid, "gates are overridden for one task or member, not for everything that waits")
	}
	if r.Member != "" || r.All {
		if err := d.harvestLoose(ctx, r); err != nil {
			return api.MergeReply{}, err
		}
	}
	wants := r.Wants
	if r.Unmarked {
		clean, err := d.unmarked(ctx)
		if err != nil {
			return api.MergeReply{}, err
		}
		wants = func(m tasks.Merge) bool { return r.Wants(m) && clean[m.ID] == m.Commit }
	}
	asked, err := d.queue.Request(ctx, actors.Operator, r.Force, wants)
	if err == nil && len(asked) == 0 {
		whose := ""
		switch {
		case r.Unmarked:
			whose = " without marks"
		case !r.All:
			whose = " of " + r.String()
		}
		err = texts.Errorf(tasks.ErrNotFound, "no finished work%s waits to be merged; covey review lists what there is", whose)
	}
	if err == nil && r.Force {
		err = d.dropFixes(ctx, asked)
	}
	if err == nil {
		err = d.updateOnWay(ctx)
	}
	d.wake()
	if err == nil && r.Wait {
		asked, err = d.await(ctx, asked)
	}
	return api.MergeReply{Merges: asked}, err
}

// unmarked returns the commits of the waiting work that a review marks nothing in, by the ids of its
// merges. It looks at the work now: what is known of it may be from before other work was merged.
func (d *Merger) unmarked(ctx context.Context) (map[string]string, error) {
	reply, err := d.Review(ctx, api.ReviewRequest{})
	clean := map[string]string{}
	for _, r := range reply.Reviews {
		if len(hints.Words(r.Hints)) == 0 {
			clean[r.ID] = r.Commit
		}
	}
	return clean, err
}

// dropFixes deletes the tasks to mend work that the operator merges as it is: their owners would undo
// what the operator has accepted.
func (d *Merger) dropFixes(ctx context.Context, asked []tasks.Merge) error {
	all, err := d.deps.Store.List(ctx)
	if err != nil {
		return fmt.Errorf("find the tasks to mend: %w", err)
	}
	for _, t := range all {
		mends := func(m tasks.Merge) bool {
			return m.Fix == t.ID || string(t.Metadata[KeyMerge]) == string(texts.Encode(m.ID))
		}
		if t.Status == tasks.Completed || !slices.ContainsFunc(asked, mends) {
			continue
		}
		_, err := d.deps.Store.Delete(ctx, actors.Actor{Name: actors.Operator}, t.ID, nil)
		if err != nil && !errors.Is(err, tasks.ErrNotFound) {
			return fmt.Errorf("delete task %s, which is moot: %w", t.ID, err)
		}
	}
	return nil
}

// MergeHere does the same as Merge, but merges in the caller's goroutine while Serve
// does not run. It returns the merges in their final state.
func (d *Merger) MergeHere(ctx context.Context, r api.MergeRequest) ([]tasks.Merge, error) {
	r.Wait = false
	asked, err := d.Merge(ctx, r)
	if err != nil {
		return nil, err
	}
	// Twice: what was asked about in the first round may need no answer any more.
	for range 2 {
		if err := errors.Join(d.queue.Work(ctx), d.updateOnWay(ctx)); err != nil {
			return nil, fmt.Errorf("merge: %w", err)
		}
	}
	return d.again(ctx, asked.Merges)
}

// await waits until none of the merges is on its way.
func (d *Merger) await(ctx context.Context, asked []tasks.Merge) ([]tasks.Merge, error) {
	for {
		d.mu.Lock()
		moved, fault := d.moved, d.fault
		d.mu.Unlock()
		now, err := d.again(ctx, asked)
		if err != nil || fault != nil || !slices.ContainsFunc(now, func(m tasks.Merge) bool { return m.State.Busy() }) {
			return now, errors.Join(err, fault)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return now, context.Cause(ctx)
		}
	}
}

// again reads the current state of merges.
func (d *Merger) again(ctx context.Context, asked []tasks.Merge) ([]tasks.Merge, error) {
	all, err := d.deps.Store.Merges().List(ctx)
	var now []tasks.Merge
	for _, m := range all {
		if slices.ContainsFunc(asked, func(a tasks.Merge) bool { return a.ID == m.ID }) {
			now = append(now, m)
		}
	}
	return now, err
}

// Owed reports whether finished work is queued to be merged.
func Owed(ctx context.Context, s *tasks.Store) bool {
	list, err := s.Merges().List(ctx)
	return err == nil && slices.ContainsFunc(list, func(m tasks.Merge) bool {
		return m.State.Busy() || m.State == tasks.MergeHeld
	})
}

// harvestLoose harvests the working copies of idle members.
func (d *Merger) harvestLoose(ctx context.Context, r api.MergeRequest) error {
	for _, m := range d.deps.Members.Members() {
		if r.Member != "" && m.Name != r.Member {
			continue
		}
		copy, ok, err := d.copyOf(ctx, m.Name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if s, _ := d.deps.Members.StateOf(m.Name); s.InTurn() && s.Gone == "" {
			if r.Member != "" {
				return fmt.Errorf("%s is in a turn; run covey merge again when it is idle, "+
					"or with a completed task", m.Name)
			}
			continue
		}
		d.taking.Lock()
		_, err = d.queue.Harvest(ctx, Work{Member: m.Name, Copy: copy}, true)
		d.taking.Unlock()
		if err != nil {
			return fmt.Errorf("the work of %s: %w", m.Name, err)
		}
	}
	return nil
}
