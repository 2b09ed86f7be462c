package merging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Work is what a member has made.
type Work struct {
	Member string
	Copy   *worktree.Repo // where it has worked
	Task   *tasks.Task    // that is done; nil: whatever lies there
}

// taskBranch is the branch of the work on a task, beside the branch that its member
// works on. No member's name holds an underscore, so it is never a member's.
func taskBranch(own, id string) string { return path.Dir(own) + "/" + taskMark + id }

const taskMark = "task_"

// Outlook is what would come of a merge.
type Outlook struct {
	Tree      string   // merged; meaningless with conflicts
	Empty     bool     // it would change nothing
	Files     []string // that it changes, below the workspace
	Conflicts []string // likewise, that cannot be merged
	Outside   []string // likewise, that its author may not write
	Protected []string // likewise, that nobody may change unasked
}

// Foresee finds out what comes of merging m on top of base, and changes nothing.
//
// With conflicts there is no merged tree to compare, so Files, Empty and Protected are
// left as they are. Outside is filled in all cases, for it needs the author's commits
// alone.
func (q *Queue) Foresee(ctx context.Context, m tasks.Merge, base string) (Outlook, error) {
	var o Outlook
	merged, err := q.Repo.Merge(ctx, base, m.Commit)
	if err != nil {
		return o, fmt.Errorf("what would come of it: %w", err)
	}
	o.Tree = merged.Tree
	for _, p := range merged.Conflicts {
		o.Conflicts = append(o.Conflicts, Below(q.Repo.Prefix, p))
	}
	// What the author has written counts from where its branch left: what came from
	// there by merging is not the author's.
	from, err := q.Repo.MergeBase(ctx, base, m.Commit)
	if err != nil {
		return o, fmt.Errorf("what would come of it: %w", err)
	}
	if from == "" {
		return o, fmt.Errorf("%s and %s have no commit in common", m.Branch, m.Into)
	}
	own, err := q.Written(ctx, m.Member, from, m.Commit)
	if err != nil {
		return o, fmt.Errorf("what would come of it: %w", err)
	}
	o.Outside = owned.Outside(q.rules().Owns[m.Member], own)
	if len(o.Conflicts) > 0 {
		return o, nil
	}
	changes, err := q.Repo.Changed(ctx, base, o.Tree)
	o.Files, o.Empty = Paths(changes, q.Repo.Prefix), len(changes) == 0
	o.Protected = owned.Protected(q.rules().Protect, o.Files)
	return o, err
}

// Written lists the files that a member has written, below the workspace: those in
// which its work, a commit or tree, differs from the commit that it began from. What
// others have made and it has only merged, as they made it, is not counted.
func (q *Queue) Written(ctx context.Context, member, from, work string) ([]string, error) {
	changes, err := q.Repo.Changed(ctx, from, work)
	if err != nil || q.rules().Owns[member] == nil {
		return Paths(changes, q.Repo.Prefix), err
	}
	all, err := q.Store.Merges().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("what was written: %w", err)
	}
	for _, m := range all {
		if m.Member == member || m.State.Over() || len(changes) == 0 {
			continue
		}
		theirs, err := q.Repo.Changed(ctx, m.From, m.Commit)
		if err != nil {
			continue // its commits are gone, so nothing of it can be here
		}
		since, err := q.Repo.Changed(ctx, m.Commit, work)
		if err != nil {
			return nil, fmt.Errorf("what was written: %w", err)
		}
		changes = slices.DeleteFunc(changes, func(c worktree.Change) bool {
			return hasPath(theirs, c.Path) && !hasPath(since, c.Path)
		})
	}
	return Paths(changes, q.Repo.Prefix), nil
}

// hasPath reports whether a file is among some changes.
func hasPath(changes []worktree.Change, path string) bool {
	return slices.ContainsFunc(changes, func(c worktree.Change) bool { return c.Path == path })
}

// Harvest takes down what a member has made: what is in no commit is committed, the
// branch of the work is set to it, and the work stands in the queue, or waits for
// somebody to ask for it. now queues it in any case. It gives no merge if there is
// nothing new. Nobody may work in the copy meanwhile.
func (q *Queue) Harvest(ctx context.Context, w Work, now bool) (*tasks.Merge, error) {
	into, err := q.Target(ctx)
	if err != nil {
		return nil, fmt.Errorf("take down work: %w", err)
	}
	m := tasks.Merge{Member: w.Member, Into: into, Title: "work of " + w.Member, State: tasks.MergeWaiting}
	// What mends work that came back was asked for with that work.
	if now || q.rules().Auto || w.Task != nil && w.Task.Metadata[KeyMerge] != nil {
		m.State = tasks.MergeQueued
	}
	if w.Task != nil {
		m.Title, m.Tasks = w.Task.Subject, []string{w.Task.ID}
	}
	m.Commit, err = w.Copy.CommitAll(ctx, subject(m)+"\n\nCommitted by covey when the work was done.\n", worktree.Person{})
	if err != nil {
		return nil, fmt.Errorf("take down work: %w", err)
	}
	earlier, err := q.Store.Merges().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("take down work: %w", err)
	}
	if m.From, err = q.from(ctx, m, earlier); err != nil {
		return nil, fmt.Errorf("take down work: %w", err)
	}
	if nothing, err := q.nothing(ctx, m, w.Task != nil); nothing || err != nil {
		return nil, err
	}
	m.Round = roundOf(w.Task, earlier)
	if m.Branch, err = q.branch(ctx, w, m.Commit); err != nil {
		return nil, fmt.Errorf("take down work: %w", err)
	}
	m, err = q.Store.Merges().Propose(ctx, actors.Actor{}, m)
	if err == nil && now && m.State == tasks.MergeWaiting {
		m, err = q.set(ctx, m, tasks.MergeQueued, "")
	}
	return &m, err
}

// from is where a piece of work begins: behind the member's last one, or where its
// branch left the other.
//
// A piece of work is what came since the piece before, or else files that an earlier
// task has changed would count for a later one, and be held against it. Earlier ones
// are looked through from the newest on; one of the very same commit says nothing of
// where this work began, and is passed over.
func (q *Queue) from(ctx context.Context, m tasks.Merge, earlier []tasks.Merge) (string, error) {
	for _, e := range slices.Backward(earlier) {
		if e.Member != m.Member || e.Commit == m.Commit && !slices.Equal(e.Tasks, m.Tasks) {
			continue
		}
		if before, err := q.Repo.Holds(ctx, m.Commit, e.Commit); err == nil && before && e.Commit != m.Commit {
			return e.Commit, nil
		}
	}
	from, err := q.Repo.MergeBase(ctx, ref(m.Into), m.Commit)
	if err == nil && from == "" {
		err = fmt.Errorf("the work of %s and the branch %s have no commit in common", m.Member, m.Into)
	}
	return from, err
}

// nothing reports whether there is nothing to merge: the branch holds all of it, or,
// of a task, it adds nothing to the work before it.
//
// A task that changed no file (a question answered, a review) makes no merge: there
// would be nothing to look at, and its dependents would wait for it.
func (q *Queue) nothing(ctx context.Context, m tasks.Merge, task bool) (bool, error) {
	held, err := q.Repo.Holds(ctx, ref(m.Into), m.Commit)
	if err != nil || held {
		return held, err
	}
	if !task || m.From == m.Commit {
		return m.From == m.Commit, nil
	}
	changes, err := q.Repo.Changed(ctx, m.From, m.Commit)
	return err == nil && len(changes) == 0, err
}

// roundOf is how often the work that a task mends has come back.
//
// It is by the round that work which comes back again and again reaches a person in the
// end (maxRounds). The task names the merge that it mends in its metadata, under
// KeyMerge; anything else there counts as no name.
func roundOf(t *tasks.Task, earlier []tasks.Merge) int {
	if t == nil {
		return 0
	}
	var id string
	if json.Unmarshal(t.Metadata[KeyMerge], &id) != nil {
		return 0
	}
	for _, e := range earlier {
		if e.ID == id {
			return e.Round
		}
	}
	return 0
}

// branch is the branch that holds a piece of work.
//
// A task's work gets a branch of its own that stays where the task ended, for the member
// goes on upon its own branch with the next task at once. The branch is moved only from
// where it was seen: if somebody else has moved it meanwhile, that is an error and no
// commit is lost.
func (q *Queue) branch(ctx context.Context, w Work, commit string) (string, error) {
	head, err := w.Copy.Head(ctx)
	if err == nil && head.Branch == "" {
		err = fmt.Errorf("%s is on no branch, so nothing would hold the work of %s", w.Copy.Top, w.Member)
	}
	if w.Task == nil || q.rules().PerMember || err != nil {
		return head.Branch, err
	}
	branch := taskBranch(head.Branch, w.Task.ID)
	was, err := q.Repo.Commit(ctx, ref(branch))
	if err != nil && !errors.Is(err, worktree.ErrNoRef) {
		return "", err
	}
	if was == commit {
		return branch, nil
	}
	if err := q.rescue(ctx, branch, was, commit); err != nil {
		return "", fmt.Errorf("the branch of the work: %w", err)
	}
	step := worktree.Step{From: was, To: commit, Why: "covey: task " + w.Task.ID + " is done"}
	return branch, q.Repo.Move(ctx, ref(branch), step)
}

// rescue keeps what a branch of that name has held and the new work does not: it is
// of an earlier run that was forgotten, since when tasks have the same ids again.
func (q *Queue) rescue(ctx context.Context, branch, was, commit string) error {
	if was == "" {
		return nil
	}
	if kept, err := q.Repo.Holds(ctx, commit, was); err != nil || kept {
		return err
	}
	to := fmt.Sprintf("refs/covey/rescue/%s/%.12s", strings.TrimPrefix(branch, "covey/"), was)
	err := q.Repo.Move(ctx, to, worktree.Step{To: was, Why: "covey: " + branch + " begins anew"})
	if errors.Is(err, worktree.ErrMoved) {
		return nil // it is kept already
	}
	return err
}

// Freshen brings what has been merged meanwhile into a member's working copy, and
// then further commits, such as the work that its next task builds upon. Nothing
// comes while something in the copy is not committed, and nothing that conflicts
// with it. It reports whether anything came.
func (q *Queue) Freshen(ctx context.Context, copy *worktree.Repo, more ...string) (came bool, err error) {
	into, err := q.Target(ctx)
	if err != nil {
		return false, fmt.Errorf("bring a copy up to date: %w", err)
	}
	head, err := copy.Head(ctx)
	if err != nil || head.Branch == "" || head.Branch == into {
		return false, err
	}
	for _, rev := range append([]string{ref(into)}, more...) {
		at, err := q.bring(ctx, copy, head, rev)
		if err != nil {
			return came, fmt.Errorf("bring a copy up to date: %w", err)
		}
		came, head.Commit = came || at != head.Commit, at
	}
	return came, nil
}

// bring merges a commit into a member's working copy, unless the copy has it already or
// has something uncommitted. It returns the commit that the copy is on then.
//
// Files of the member's that are in the way, and a branch that has moved, are no errors:
// the member is at work, and what is merged will still be there at its next rest.
func (q *Queue) bring(ctx context.Context, copy *worktree.Repo, head worktree.Head, rev string) (string, error) {
	tip, err := q.Repo.Commit(ctx, rev)
	if err != nil {
		return head.Commit, fmt.Errorf("bring in work: %w", err)
	}
	if has, err := q.Repo.Holds(ctx, head.Commit, tip); err != nil || has {
		return head.Commit, err
	}
	dirty, err := copy.Dirty(ctx)
	if err != nil {
		return head.Commit, fmt.Errorf("bring in work: %w", err)
	}
	if len(dirty) > 0 {
		return head.Commit, nil
	}
	to, err := q.joined(ctx, head.Branch, head.Commit, tip)
	if err != nil {
		return head.Commit, fmt.Errorf("bring in work: %w", err)
	}
	if to == "" {
		return head.Commit, nil
	}
	var way *worktree.Obstacle
	if err = copy.Follow(ctx, to); errors.As(err, &way) || errors.Is(err, worktree.ErrMoved) {
		return head.Commit, nil // the member works on; the next time will do
	}
	if err != nil {
		return head.Commit, fmt.Errorf("bring in work: %w", err)
	}
	return to, nil
}

// joined is a commit that holds both head and tip; empty: they conflict.
//
// If head lies behind tip it is tip itself: a merge commit that joins nothing would only
// make histories harder to read.
func (q *Queue) joined(ctx context.Context, branch, head, tip string) (string, error) {
	behind, err := q.Repo.Holds(ctx, tip, head)
	if behind || err != nil {
		return tip, err
	}
	merged, err := q.Repo.Merge(ctx, head, tip)
	if err != nil || len(merged.Conflicts) > 0 {
		return "", err
	}
	return q.Repo.CommitTree(ctx, worktree.Commit{
		Tree: merged.Tree, Parents: []string{head, tip},
		Message: fmt.Sprintf("Merge what others have done into %s\n", branch),
	})
}
