package merging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// A review combines three sources: the store has the work and the verdicts of gates,
// git knows the result of merging now, and working copies have what is not harvested
// yet. Nothing is cached, because all of it may change before the next review.

// Review returns what is known of finished work.
func (d *Merger) Review(ctx context.Context, r api.ReviewRequest) (api.ReviewReply, error) {
	if !d.hasRepo() {
		return api.ReviewReply{}, nil
	}
	reply, err := reviewOf(ctx, d.queue, d.deps.Place, r)
	d.deps.State.Read(func(s *view.State) {
		works := s.Works()
		for i := range reply.Reviews {
			one := &reply.Reviews[i]
			for _, id := range one.Tasks {
				if t := s.Task(id); t != nil {
					one.Hints = hints.Join(one.Hints, works.Facts(s, t))
				}
			}
		}
	})
	return reply, err
}

// ReadReview returns what is known of the finished work of a team that does not run. It
// changes nothing.
func ReadReview(ctx context.Context, p state.Place, team *configs.Team, r api.ReviewRequest) (api.ReviewReply, error) {
	repo, err := openRepo(ctx, p, team)
	if errors.Is(err, worktree.ErrNoRepo) {
		return api.ReviewReply{}, nil
	}
	if err != nil {
		return api.ReviewReply{}, fmt.Errorf("review: %w", err)
	}
	store, err := p.OpenStore()
	if errors.Is(err, fs.ErrNotExist) {
		return api.ReviewReply{}, nil
	}
	if err != nil {
		return api.ReviewReply{}, fmt.Errorf("review: %w", err)
	}
	defer store.Close()
	return reviewOf(ctx, queueOf(p, func() *configs.Team { return team }, repo, store), p, r)
}

// reviewOf collects reviews.
//
// The work on a named task is shown even if it is merged; a list contains only unmerged
// work.
func reviewOf(ctx context.Context, q *Queue, p state.Place, r api.ReviewRequest) (api.ReviewReply, error) {
	reply := api.ReviewReply{Reviews: []api.Review{}, Loose: []api.LooseWork{}}
	merges, err := q.Store.Merges().List(ctx)
	if err != nil {
		return reply, fmt.Errorf("review: %w", err)
	}
	for _, m := range merges {
		named := r.Task != "" && slices.Contains(m.Tasks, r.Task)
		if !named && (r.Task != "" || m.State.Over() || r.Member != "" && m.Member != r.Member) {
			continue
		}
		one, err := reviewOne(ctx, q, m)
		for i := range one.Verdicts {
			if !r.Logs {
				one.Verdicts[i].Log = ""
			}
		}
		if err != nil {
			return reply, fmt.Errorf("%s: %w", m.Branch, err)
		}
		one.Hints, one.Size = q.hintsOf(ctx, one)
		if h, ok := view.UponReturned(m, others(one.Brings)); ok {
			one.Hints = hints.Join(one.Hints, []hints.Hint{h})
		}
		reply.Reviews = append(reply.Reviews, one)
	}
	slices.SortStableFunc(reply.Reviews, func(a, b api.Review) int {
		return api.InQueue(a.Hints, b.Hints, first(a.Tasks), first(b.Tasks))
	})
	if r.Task == "" {
		reply.Loose, err = looseWork(ctx, q, p, r.Member)
	}
	return reply, err
}

// others returns the pieces of work that a merge brings besides.
func others(list []api.Brought) (merges []tasks.Merge) {
	for _, b := range list {
		merges = append(merges, b.Merge)
	}
	return merges
}

// first returns the first task of a piece of work; empty: it belongs to none.
func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// reviewOne returns one piece of work with the result of merging it now.
func reviewOne(ctx context.Context, q *Queue, m tasks.Merge) (api.Review, error) {
	one := api.Review{Merge: m}
	var err error
	if one.Verdicts, err = q.Store.Verdicts().About(ctx, m.Subject()); err != nil {
		return one, fmt.Errorf("read its verdicts: %w", err)
	}
	for _, id := range m.Tasks {
		if t, err := q.Store.Task(ctx, id); err == nil {
			one.Evidence = append(one.Evidence, evidenceLines(t)...)
		}
	}
	if m.State == tasks.MergeReady {
		pull := PullOf(q.Papers, m)
		one.Push, one.Open = pull.Push, pull.Open
	}
	if tree, err := q.Repo.TreeOf(ctx, m.Commit); err == nil {
		one.Tree = tree
	}
	base, _, err := q.counts(ctx, m.Into)
	if err != nil && !errors.Is(err, worktree.ErrNoRef) {
		return one, fmt.Errorf("foresee its merge: %w", err)
	}
	gone := err != nil // there is nothing to merge into
	b, err := q.brings(ctx, m, base)
	if one.Begins = cmp.Or(b.From, m.From); gone || m.State.Over() && err != nil {
		return one, nil // its commits may be gone, too
	}
	for _, o := range b.Others {
		if o.Fix != "" && slices.Contains(m.Tasks, o.Fix) {
			one.Revises = o.Commit
		}
	}
	if err == nil {
		one.Brings, err = q.brought(ctx, b)
	}
	if err != nil || m.State.Over() {
		return one, err
	}
	changes, err := q.Repo.Changed(ctx, one.Begins, m.Commit)
	if err != nil {
		return one, fmt.Errorf("find its changes: %w", err)
	}
	one.Changes = Paths(changes, q.Repo.Prefix)
	o, err := q.foresee(ctx, m, base, b.From)
	one.Conflicts, one.Outside, one.Protected = o.Conflicts, o.Outside, o.Protected
	return one, err
}

// evidenceLines returns one line for each piece of a task's evidence.
func evidenceLines(t tasks.Task) []string {
	var lines []string
	for _, e := range t.Evidence {
		lines = append(lines, fmt.Sprintf("%s (%s)", cmp.Or(texts.FirstLine(e.Text), e.File), cmp.Or(e.By, "covey")))
	}
	return lines
}

// looseWork lists the work in members' working copies that belongs to no merge; an
// empty member stands for all.
func looseWork(ctx context.Context, q *Queue, p state.Place, member string) ([]api.LooseWork, error) {
	list := []api.LooseWork{}
	made, err := workcopies.ByHooks(ctx, q.Store)
	if err != nil {
		return list, fmt.Errorf("the work in copies: %w", err)
	}
	copies, err := workcopies.Copies(ctx, p, q.Repo, made)
	if err != nil {
		return list, fmt.Errorf("the work in copies: %w", err)
	}
	merges, err := q.Store.Merges().List(ctx)
	if err != nil {
		return list, fmt.Errorf("the work in copies: %w", err)
	}
	_, tip, err := q.tip(ctx)
	if err != nil {
		return list, nil // without a target branch there is nothing to compare with
	}
	for _, c := range copies {
		if member != "" && c.Member != member {
			continue
		}
		l := api.LooseWork{Member: c.Member, Branch: cmp.Or(c.Head.Branch, c.Top)}
		if l.Changes, l.Commits, err = looseIn(ctx, c, tip, merges); err != nil {
			return list, fmt.Errorf("the work in copies: %w", err)
		}
		if l.Commits > 0 || len(l.Changes) > 0 {
			list = append(list, l)
		}
	}
	return list, nil
}

// looseIn returns the loose work in one working copy: what is not committed, and how many commits
// belong to no merge.
func looseIn(ctx context.Context, c workcopies.Copy, tip string, merges []tasks.Merge) (changes []string, commits int, err error) {
	if changes, err = c.Dirty(ctx); err != nil {
		return nil, 0, fmt.Errorf("read a working copy: %w", err)
	}
	for _, m := range slices.Backward(merges) {
		if m.Member != c.Member {
			continue
		}
		if known, err := c.Holds(ctx, m.Commit, c.Head.Commit); err == nil && known {
			return changes, 0, nil // all commits are harvested
		}
	}
	commits, err = c.Ahead(ctx, tip, c.Head.Commit)
	return changes, commits, err
}
