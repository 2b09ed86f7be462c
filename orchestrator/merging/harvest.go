package merging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Work is what a member has produced.
type Work struct {
	Member string
	Copy   *worktree.Repo // the member's working copy
	Task   *tasks.Task    // the completed task; nil: everything in Copy
}

// taskBranch returns the branch for the work on a task, next to the member's own branch if that is
// covey's. Names of members hold no underscore, so it is never a member's branch.
func (q *Queue) taskBranch(own, id string) string {
	if strings.HasPrefix(own, "covey/") {
		return path.Dir(own) + "/" + taskMark + id
	}
	return q.Home + "/" + taskMark + id // a hook has named the member's own, or it has none
}

const taskMark = "task_"

// Outlook is the expected result of a merge.
type Outlook struct {
	Tree      string   // merged tree; meaningless with conflicts
	Empty     bool     // the merge would change nothing
	Files     []string // changed files, relative to the workspace
	Conflicts []string // files that conflict
	Outside   []string // files that the author may not write
	Protected []string // changed files that need approval
}

// foresee returns the result of merging m into base, and changes nothing. The work left base at the
// commit from; empty: it did not.
//
// With conflicts there is no merged tree to compare, so Files, Empty and Protected stay
// zero. Outside is always set, because it depends only on the author's commits.
func (q *Queue) foresee(ctx context.Context, m tasks.Merge, base, from string) (Outlook, error) {
	var o Outlook
	merged, err := q.Repo.Merge(ctx, base, m.Commit)
	if err != nil {
		return o, fmt.Errorf("foresee the merge: %w", err)
	}
	o.Tree = merged.Tree
	for _, p := range merged.Conflicts {
		o.Conflicts = append(o.Conflicts, Below(q.Repo.Prefix, p))
	}
	// Count what the author wrote since its branch left base: changes that it merged
	// from base are not its own.
	if from == "" {
		return o, fmt.Errorf("%s and %s have no commit in common", m.Branch, m.Into)
	}
	own, err := q.Written(ctx, q.Repo, m.Member, from, m.Commit)
	if err != nil {
		return o, fmt.Errorf("foresee the merge: %w", err)
	}
	o.Outside = writes.Outside(q.owns(m.Member), own)
	if len(o.Conflicts) > 0 {
		return o, nil
	}
	changes, err := q.Repo.Changed(ctx, base, o.Tree)
	o.Files, o.Empty = Paths(changes, q.Repo.Prefix), len(changes) == 0
	o.Protected = writes.Protected(q.Team().Protect, o.Files)
	return o, err
}

// Written lists the files that a member has written, relative to the workspace: those
// that differ between its work, a commit or tree of repo, and the commit it began from. Changes
// of others that it merged without changing them do not count.
func (q *Queue) Written(ctx context.Context, repo *worktree.Repo, member, from, work string) ([]string, error) {
	if q.owns(member) == nil {
		changes, err := repo.Changed(ctx, from, work)
		return Paths(changes, q.Repo.Prefix), err
	}
	changes, err := q.own(ctx, repo, member, from, work)
	return Paths(changes, q.Repo.Prefix), err
}

// own returns the changes of Written.
func (q *Queue) own(ctx context.Context, repo *worktree.Repo, member, from, work string) ([]worktree.Change, error) {
	changes, err := repo.Changed(ctx, from, work)
	if err != nil {
		return nil, err
	}
	all, err := q.Store.Merges().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the written files: %w", err)
	}
	for _, m := range all {
		if m.Member == member || m.State.Over() || len(changes) == 0 {
			continue
		}
		// The same change made twice is a change of both. Of a tree it is not known.
		if held, err := repo.Holds(ctx, work, m.Commit); err == nil && !held {
			continue
		}
		theirs, err := q.Repo.Changed(ctx, m.From, m.Commit)
		if err != nil {
			continue // its commits are gone, so none of them was merged
		}
		since, err := repo.Changed(ctx, m.Commit, work)
		if err != nil {
			return nil, fmt.Errorf("list the written files: %w", err)
		}
		changes = slices.DeleteFunc(changes, func(c worktree.Change) bool {
			return hasPath(theirs, c.Path) && !hasPath(since, c.Path)
		})
	}
	return changes, nil
}

// hasPath reports whether changes contain a file.
func hasPath(changes []worktree.Change, path string) bool {
	return slices.ContainsFunc(changes, func(c worktree.Change) bool { return c.Path == path })
}

// Harvest records what a member has produced: it commits uncommitted changes, sets the
// branch of the work to the commit, and adds a merge that is queued or waits for a
// request. now queues it in any case. It returns nil if there is nothing new. Nobody
// may work in the copy during the call.
func (q *Queue) Harvest(ctx context.Context, w Work, now bool) (*tasks.Merge, error) {
	into, tip, err := q.tip(ctx)
	if err != nil {
		return nil, fmt.Errorf("harvest work: %w", err)
	}
	m := tasks.Merge{Member: w.Member, Into: into, Title: "work of " + w.Member, State: tasks.MergeWaiting}
	// A task that repairs returned work belongs to a merge that was already requested.
	if now || q.Team().Merge.Given || w.Task != nil && w.Task.Metadata[KeyMerge] != nil {
		m.State = tasks.MergeQueued
	}
	if w.Task != nil {
		m.Title, m.Tasks = w.Task.Subject, []string{w.Task.ID}
	}
	// Nothing has changed up to here. From here on each step may be repeated after a kill:
	// a commit without changes is none, a branch that is set again stays, and Propose finds
	// the merge of the branch.
	head, err := q.commit(ctx, w.Copy, m)
	if err != nil {
		return nil, fmt.Errorf("harvest work: %w", err)
	}
	m.Commit = head.Commit
	earlier, err := q.Store.Merges().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("harvest work: %w", err)
	}
	var left bool
	if m.From, left, err = q.from(ctx, m, w.Task, tip, earlier); err != nil {
		return nil, fmt.Errorf("harvest work: %w", err)
	}
	nothing, err := q.nothing(ctx, m, tip, left, w.Task != nil)
	if nothing && err == nil {
		nothing, err = q.mendedBefore(ctx, &m, tip, w.Task, earlier)
	}
	if nothing || err != nil {
		return nil, err
	}
	if w.Task == nil && q.onItsWay(ctx, m, earlier) {
		return nil, nil
	}
	m.Round = roundOf(w.Task, earlier)
	if m.Branch, err = q.branch(ctx, head, w); err != nil {
		return nil, fmt.Errorf("harvest work: %w", err)
	}
	m, err = q.Store.Merges().Propose(ctx, actors.Actor{}, m)
	if err == nil && now && m.State == tasks.MergeWaiting {
		m, err = q.set(ctx, m, tasks.MergeQueued, "")
	}
	return &m, err
}

// commit commits the uncommitted changes of a copy, and brings what it has to the operator's repository.
func (q *Queue) commit(ctx context.Context, copy *worktree.Repo, m tasks.Merge) (worktree.Head, error) {
	copy, err := copy.Operation(ctx)
	if err != nil {
		return worktree.Head{}, err
	}
	head, err := copy.CommitAll(ctx, worktree.Commit{
		Message: subject(m) + "\n\nCommitted by covey when the work was done.\n",
	}, q.made.of(ctx, copy))
	if err == nil {
		head.Branch, err = copy.Publish(ctx, head)
	}
	return head, err
}

// from returns the commit where a piece of work begins: the end of the member's
// previous piece, or where its branch left the target; left says that it is the latter.
//
// Without this, files that an earlier task changed would count for a later one as well.
// The newest earlier piece counts; one with the same commit is skipped, because it does
// not tell where this work began, unless the task (nil: none) began after it and repairs nothing.
func (q *Queue) from(ctx context.Context, m tasks.Merge, t *tasks.Task, tip string, earlier []tasks.Merge) (
	from string, left bool, err error,
) {
	for _, e := range slices.Backward(earlier) {
		if e.Member != m.Member {
			continue
		}
		if e.Commit == m.Commit && !slices.Equal(e.Tasks, m.Tasks) {
			if t != nil && t.Metadata[KeyMerge] == nil && t.Begun.After(e.Created) {
				return e.Commit, false, nil
			}
			continue
		}
		if before, err := q.Repo.Holds(ctx, m.Commit, e.Commit); err == nil && before && e.Commit != m.Commit {
			return e.Commit, false, nil
		}
	}
	from, err = q.Repo.MergeBase(ctx, tip, m.Commit)
	if err == nil && from == "" {
		err = fmt.Errorf("the work of %s and the branch %s have no commit in common", m.Member, m.Into)
	}
	return from, true, err
}

// nothing reports whether there is nothing to merge: the target branch contains all of
// it, or it belongs to a task and adds nothing to the work before it. left says that m.From
// is where the work left the target branch, which therefore contains m.Commit only if the
// two are the same.
//
// A task that changed no file (an answered question, a review) creates no merge: there
// would be nothing to judge, and its dependents would wait for it.
func (q *Queue) nothing(ctx context.Context, m tasks.Merge, tip string, left, task bool) (bool, error) {
	if m.From == m.Commit {
		return true, nil
	}
	if !left {
		if held, err := q.Repo.Holds(ctx, tip, m.Commit); err != nil || held {
			return held, err
		}
	}
	if !task {
		return false, nil
	}
	changes, err := q.own(ctx, q.Repo, m.Member, m.From, m.Commit)
	return err == nil && len(changes) == 0, err
}

// onItsWay reports whether all commits of a piece of work without a task belong to other
// work of its member that waits or is being merged. As a piece of its own it would conflict
// once more, and its author would be asked twice to repair the same.
func (q *Queue) onItsWay(ctx context.Context, m tasks.Merge, earlier []tasks.Merge) bool {
	return slices.ContainsFunc(earlier, func(e tasks.Merge) bool {
		if e.Member != m.Member || e.State.Over() {
			return false
		}
		held, err := q.Repo.Holds(ctx, e.Commit, m.Commit)
		return err == nil && held
	})
}

// roundOf returns how often the work that a task repairs was returned to its author.
//
// By this count, work that is returned again and again reaches a person in the end
// (maxRounds). The task names the merge that it repairs in its metadata under KeyMerge;
// any other value there is ignored.
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

// branch returns the branch that holds a piece of work, the head of a copy, which is published.
//
// The work on a task gets its own branch that stays where the task ended, because the
// member continues on its own branch at once. The branch moves by compare-and-set: if
// somebody else moved it, that is an error and no commit is lost.
func (q *Queue) branch(ctx context.Context, head worktree.Head, w Work) (string, error) {
	branch, commit, why := q.Home+"/"+w.Member, head.Commit, "covey: the work of "+w.Member
	switch {
	case w.Task != nil && q.Team().Merge.Per != configs.PerMember:
		branch, why = q.taskBranch(head.Branch, w.Task.ID), "covey: task "+w.Task.ID+" is done"
	case head.Branch != "":
		return head.Branch, nil
	}
	step := worktree.Step{To: commit, Why: why}
	if err := q.Repo.Move(ctx, ref(branch), step); !errors.Is(err, worktree.ErrMoved) {
		return branch, err // usually the branch is new
	}
	was, err := q.Repo.Commit(ctx, ref(branch))
	if err != nil && !errors.Is(err, worktree.ErrNoRef) {
		return "", err
	}
	if was == commit {
		return branch, nil
	}
	if err := q.rescue(ctx, branch, was, commit); err != nil {
		return "", fmt.Errorf("find the branch of the work: %w", err)
	}
	step.From = was
	return branch, q.Repo.Move(ctx, ref(branch), step)
}

// rescue keeps the commits of a branch that the new work does not contain: the branch
// is of an earlier, reset run, after which task ids start over.
func (q *Queue) rescue(ctx context.Context, branch, was, commit string) error {
	if was == "" {
		return nil
	}
	if kept, err := q.Repo.Holds(ctx, commit, was); err != nil || kept {
		return err
	}
	to := fmt.Sprintf("refs/covey/rescue/%s/%.12s", strings.TrimPrefix(branch, "covey/"), was)
	err := q.Repo.Move(ctx, to, worktree.Step{To: was, Why: "covey: " + branch + " is recreated"})
	if errors.Is(err, worktree.ErrMoved) {
		return nil // already kept
	}
	return err
}

// Freshen merges into a member's working copy what has been merged meanwhile, and then
// further commits, such as the work that its next task builds on. It does nothing while
// the copy has uncommitted changes, and skips commits that conflict. It reports whether
// the copy changed. head is what the copy has checked out.
func (q *Queue) Freshen(ctx context.Context, copy *worktree.Repo, head worktree.Head, more ...string) (came bool, err error) {
	into, tip, err := q.tip(ctx)
	if err != nil {
		return false, fmt.Errorf("update a working copy: %w", err)
	}
	if head.Branch == "" || head.Branch == into {
		return false, nil
	}
	for _, rev := range append([]string{tip}, more...) {
		at, err := q.mergeInto(ctx, copy, head, rev)
		if err != nil {
			return came, fmt.Errorf("update a working copy: %w", err)
		}
		came, head.Commit = came || at != head.Commit, at
	}
	if came {
		if _, err := copy.Publish(ctx, head); err != nil {
			return came, fmt.Errorf("update a working copy: %w", err)
		}
	}
	return came, nil
}

// mergeInto merges the commit tip into a member's working copy, unless the copy contains it
// already or has uncommitted changes. It returns the commit that the copy is then on.
//
// Files of the member that are in the way, and a branch that moved, are no errors: the
// member is at work, and the next call tries again.
func (q *Queue) mergeInto(ctx context.Context, copy *worktree.Repo, head worktree.Head, tip string) (string, error) {
	if has, err := copy.Holds(ctx, head.Commit, tip); err != nil || has {
		return head.Commit, err
	}
	dirty, err := q.dirty(ctx, copy)
	if err != nil {
		return head.Commit, fmt.Errorf("merge into a working copy: %w", err)
	}
	if dirty {
		return head.Commit, nil
	}
	to, err := combined(ctx, copy, head, tip)
	if err != nil {
		return head.Commit, fmt.Errorf("merge into a working copy: %w", err)
	}
	if to == "" {
		return head.Commit, nil
	}
	var way *worktree.Obstacle
	if err = copy.Follow(ctx, to); errors.As(err, &way) || errors.Is(err, worktree.ErrMoved) {
		return head.Commit, nil // the member works; the next call tries again
	}
	if err != nil {
		return head.Commit, fmt.Errorf("merge into a working copy: %w", err)
	}
	return to, nil
}

// combined returns a commit of a copy that contains both its head and tip; empty if they conflict.
//
// If tip contains head, combined returns tip: a merge commit that joins nothing would
// only make the history harder to read.
func combined(ctx context.Context, copy *worktree.Repo, head worktree.Head, tip string) (string, error) {
	behind, err := copy.Holds(ctx, tip, head.Commit)
	if behind || err != nil {
		return tip, err
	}
	merged, err := copy.Merge(ctx, head.Commit, tip)
	if err != nil || len(merged.Conflicts) > 0 {
		return "", err
	}
	return copy.CommitTree(ctx, worktree.Commit{
		Tree: merged.Tree, Parents: []string{head.Commit, tip},
		Message: fmt.Sprintf("Merge what others have done into %s\n", head.Branch),
	})
}
