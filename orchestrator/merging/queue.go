package merging

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Trial is a merged state for gates to judge.
type Trial struct {
	tasks.Merge
	Copy *worktree.Repo // has Merge.Result checked out; nobody works in it
	Part bool           // a part of the work is missing there, so that no verdict is about the work
}

// Answer is the answer of a person to a question. If neither Yes, No nor Late is set,
// the question is open.
type Answer struct {
	Yes, No bool
	Late    bool   // the question expired unanswered
	ID      string // of the question
	Text    string // the reason for No
	// Merge and Commit are the work that the question is about; empty: that which waits for it.
	Merge, Commit string
}

// Queue merges finished work, one piece after another. Set its fields before first use and
// do not change them. Reviews of work need Team, Repo, Store, Scratch and Papers; Work
// needs all.
type Queue struct {
	Team    func() *configs.Team // the current spec: that of a running team can change
	Repo    *worktree.Repo       // seen from the workspace
	Store   *tasks.Store
	Home    string // path of the branches for work in copies that are on none of covey's
	Scratch string // folder of the queue's working copy; need not exist
	Papers  string // folder for the files of pull requests
	// Prepare makes a new working copy ready for gates: it runs setup commands and
	// copies files that are not in the repository.
	Prepare func(ctx context.Context, dir string) error
	// Gates runs the gates and returns what they refuse; empty if they pass. An error
	// says nothing about the work.
	Gates func(ctx context.Context, t Trial) (refusal string, err error)
	// Ask requests the approval of a change of protected files, or of any work.
	// others are pieces of work that its merge brings, too.
	Ask func(ctx context.Context, m tasks.Merge, files []string, others []tasks.Merge) (Answer, error)
	// Watch is where the target branches are; nil: where git has them.
	Watch *Watch
	// Share brings the branches of the operator's repository to the working copy of a member, which is
	// to merge one; may be nil.
	Share func(ctx context.Context, member string) error
	// Mask replaces secrets in the text of a pull request, which people publish, and in hints.
	Mask func(text string) string
	// Elsewhere is where finished work and merges are pushed; nil: nowhere.
	Elsewhere *elsewhere
	// Receipts writes the receipts of merges; nil: there are none.
	Receipts *receiptWriter

	made    *gateFiles // nil: none is known
	working sync.Mutex
	hinted  sync.Map // hints by ownWork: each piece is asked for by all that build on it
}

// ownWork is what the hints of one piece depend on.
type ownWork struct {
	team           *configs.Team
	from, to, task string
}

// maxTries bounds how often one piece of work is merged and tested again because its
// target branch moved.
const maxTries = 5

// maxRounds bounds how often work is returned to its author before a person decides.
const maxRounds = 3

// Target returns the branch that work is merged into. It fails if the spec names none
// and the workspace has none checked out.
//
// It is read for each piece of work, because people check out other branches while a
// team works.
func (q *Queue) Target(ctx context.Context) (string, error) {
	if into := q.Team().Merge.Into; into != "" {
		return into, nil
	}
	into, _, err := q.tip(ctx)
	return into, err
}

// tip returns the branch that work is merged into, and its commit.
func (q *Queue) tip(ctx context.Context) (into, commit string, err error) {
	if into = q.Team().Merge.Into; into != "" {
		commit, _, err = q.counts(ctx, into)
		return into, commit, err
	}
	head, err := q.Repo.Head(ctx)
	if err == nil && head.Branch == "" {
		err = fmt.Errorf("%s is on no branch: check one out, or name it in the spec (merge: {into: main})", q.Repo.Top)
	}
	if err != nil {
		return "", "", err
	}
	commit, _, err = q.counts(ctx, head.Branch)
	return head.Branch, commit, err
}

// counts returns the commit of a target branch that work is merged onto and compared with. held is
// the question that has to be answered before anything is merged; empty: there is none.
func (q *Queue) counts(ctx context.Context, into string) (commit, held string, err error) {
	if q.Watch == nil {
		commit, err = q.Repo.Commit(ctx, ref(into))
		return commit, "", err
	}
	return q.Watch.Commit(ctx, into)
}

// Recover queues merges again that a crash interrupted. Call it before any other
// method.
//
// Work that was being tested or landed starts from the beginning: the branch may have
// moved since, and a verdict on another base says nothing. If it had landed, attempt
// finds that the branch contains it.
func (q *Queue) Recover(ctx context.Context) error {
	list, err := q.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("recover merges: %w", err)
	}
	for _, m := range list {
		switch m.State {
		case tasks.MergeTesting, tasks.MergeLanding:
			// git knows whether the branch was moved; see attempt.
			if _, err := q.set(ctx, m, tasks.MergeQueued, ""); err != nil {
				return fmt.Errorf("recover merges: %w", err)
			}
		case tasks.MergeHeld:
			// The obstacle may be gone, and the question may be answered.
			if _, err := q.set(ctx, m, tasks.MergeQueued, m.Reason); err != nil {
				return fmt.Errorf("recover merges: %w", err)
			}
		}
	}
	return nil
}

// Work merges until the queue is empty. It fails only if the store fails or ctx ends: a
// problem with one piece of work does not hold up the others.
//
// Only one call runs at a time, because each merge is tested on top of the one before.
// If the same version of a merge comes up twice, a step stored nothing and would repeat
// for ever, so Work reports it.
func (q *Queue) Work(ctx context.Context) error {
	q.working.Lock()
	defer q.working.Unlock()
	var last tasks.Merge
	for {
		list, err := q.Store.Merges().List(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(m tasks.Merge) bool { return m.State.Busy() })
		if i < 0 {
			return nil
		}
		if list[i].ID == last.ID && list[i].Version == last.Version {
			return fmt.Errorf("merge %s of %s makes no progress; this is a bug in covey", last.ID, last.Branch)
		}
		last = list[i]
		if err := q.process(ctx, last); err != nil {
			return err
		}
	}
}

// process processes a piece of work as far as possible.
//
// Errors of git and gates that cannot run hold the piece of work with a reason; Recover
// and `covey merge` try it again. Only errors of the store are returned, because
// without it no step can be recorded.
func (q *Queue) process(ctx context.Context, m tasks.Merge) error {
	for range maxTries {
		next, err := q.attempt(ctx, m)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, tasks.ErrConflict):
			return nil // it was changed meanwhile; Work reads it again
		case errors.As(err, new(*storeError)):
			return err
		case err != nil:
			_, err = q.set(ctx, next, tasks.MergeHeld, err.Error())
			return unlessConflict(err)
		case !next.State.Busy():
			return q.sweep(ctx, next.Into)
		}
		m = next
	}
	_, err := q.set(ctx, m, tasks.MergeHeld,
		fmt.Sprintf("%s moved during each of %d tests of this work; covey merge tries again", m.Into, maxTries))
	return unlessConflict(err)
}

// storeError is an error of the store, after which merging cannot go on.
type storeError struct{ error }

// Unwrap returns the error of the store.
func (e *storeError) Unwrap() error { return e.error }

// unlessConflict returns err, or nil if a concurrent change caused it.
func unlessConflict(err error) error {
	if errors.Is(err, tasks.ErrConflict) {
		return nil
	}
	return err
}

// set changes the state and reason of a merge.
//
// It compares the version of m: if the merge was changed meanwhile, it stays as it is,
// and the error wraps tasks.ErrConflict.
func (q *Queue) set(ctx context.Context, m tasks.Merge, state tasks.MergeState, why string) (tasks.Merge, error) {
	m.State, m.Reason = state, why
	return q.move(ctx, m, nil)
}

// move stores the next step of a merge.
func (q *Queue) move(ctx context.Context, m tasks.Merge, fix *tasks.New) (tasks.Merge, error) {
	next, err := q.Store.Merges().Move(ctx, actors.Actor{}, m, fix)
	if err != nil && !errors.Is(err, tasks.ErrConflict) {
		err = &storeError{fmt.Errorf("merge %s of %s: %w", m.ID, m.Branch, err)}
	}
	return next, err
}

// ref returns the full name of a branch.
func ref(branch string) string { return "refs/heads/" + branch }

// attempt goes through all steps of one merge once. If the merge that it returns is
// busy, its branch moved and it must be attempted again. With an error it returns the
// merge as last stored.
//
// Cheap checks that can refuse come first: conflicts, emptiness, files of others.
// People are asked before the gates run, because gates may take long and need not judge
// unwanted work. testAndLand stores that it will move the target branch before it does.
func (q *Queue) attempt(ctx context.Context, m tasks.Merge) (tasks.Merge, error) {
	m.Asked, m.Refused = "", false // the next reason to hold it may differ
	if err := q.catchUp(ctx, m.Into); err != nil {
		return m, err
	}
	base, held, err := q.counts(ctx, m.Into)
	if errors.Is(err, worktree.ErrNoRef) {
		return q.set(ctx, m, tasks.MergeHeld, fmt.Sprintf("there is no branch %s to merge into: %v", m.Into, err))
	}
	if err != nil {
		return m, err
	}
	if held != "" {
		m.Asked = held
		return q.set(ctx, m, tasks.MergeHeld, m.Into+" was moved outside of the merge queue"+inInbox)
	}
	b, err := q.brings(ctx, m, base)
	if err != nil {
		return m, err
	}
	if b.From == m.Commit { // base contains it
		return q.contained(ctx, m, "")
	}
	o, err := q.foresee(ctx, m, base, b.From)
	if err != nil {
		return m, err
	}
	switch {
	case len(o.Conflicts) > 0:
		return q.returnToAuthor(ctx, m, conflict(m, o.Conflicts))
	case o.Empty:
		return q.set(ctx, m, tasks.MergeDropped, "it changes nothing in "+m.Into)
	case len(o.Outside) > 0:
		return q.returnToAuthor(ctx, m, notOwned(m, o.Outside, q.owns(m.Member)))
	}
	if back := b.refused(m); len(back) > 0 {
		return q.set(ctx, m, tasks.MergeHeld, "it builds on work that was sent back: "+texts.Few(back, 10))
	}
	if next, ok, err := q.approved(ctx, m, b, o.Protected); !ok || err != nil {
		return next, err
	}
	return q.testAndLand(ctx, m, base, o.Tree)
}

// testAndLand runs the gates on the merged state and moves the branch to it.
//
// The commit is made before the test, so that the tested object is the one that lands.
// No branch names it until then; git collects it if it is refused. Landing is stored as
// a state of its own before the branch moves, so that after a crash it is known that
// the branch may have moved.
func (q *Queue) testAndLand(ctx context.Context, m tasks.Merge, base, tree string) (tasks.Merge, error) {
	result, err := q.Repo.CommitTree(ctx, worktree.Commit{
		Tree: tree, Parents: []string{base, m.Commit}, Message: message(m),
	})
	if err != nil {
		return m, fmt.Errorf("commit the merged state: %w", err)
	}
	m.Base, m.Result, m.Files = base, result, nil
	if m, err = q.set(ctx, m, tasks.MergeTesting, ""); err != nil {
		return m, fmt.Errorf("commit the merged state: %w", err)
	}
	refusal, held, err := q.test(ctx, m)
	switch {
	case err != nil:
		return m, err
	case held != "":
		m.Asked = held
		return q.set(ctx, m, tasks.MergeHeld, "gates may not see what is merged, because the settings for checkouts have changed"+inInbox)
	case refusal != "":
		return q.returnToAuthor(ctx, m, refused(m, refusal))
	case q.Team().Merge.Via == configs.ViaPR:
		return q.prepare(ctx, m, tree)
	}
	if err := q.Receipts.draft(ctx, m, tree); err != nil {
		return m, err
	}
	if m, err = q.set(ctx, m, tasks.MergeLanding, ""); err != nil {
		return m, fmt.Errorf("commit the merged state: %w", err)
	}
	return q.land(ctx, m)
}

// contained is done for work that may have come in otherwise than by its own merge. Result
// is then the commit of the merge that brought it in, or empty if no merge of the team did:
// the commit that was tested for it may have been refused, and is in no branch.
func (q *Queue) contained(ctx context.Context, m tasks.Merge, why string) (tasks.Merge, error) {
	in := func(rev, commit string) bool {
		there, err := q.Repo.Holds(ctx, rev, commit)
		return commit != "" && err == nil && there
	}
	tip, _, err := q.counts(ctx, m.Into)
	if err != nil {
		return m, err
	}
	if in(tip, m.Result) {
		return q.done(ctx, m, why)
	}
	m.Base, m.Result = "", ""
	list, err := q.Store.Merges().List(ctx)
	if err != nil {
		return m, &storeError{fmt.Errorf("merge %s of %s: %w", m.ID, m.Branch, err)}
	}
	for _, o := range list {
		// Merges that landed after it contain it as well, but so does their base.
		if o.State == tasks.MergeDone && o.Into == m.Into && in(tip, o.Result) &&
			in(o.Result, m.Commit) && !in(o.Base, m.Commit) {
			m.Base, m.Result = o.Base, o.Result
			break
		}
	}
	return q.done(ctx, m, why)
}

// done records that the target branch contains the work, and removes the branch of the
// task. The receipt of the merge comes first: a crash before it, or an error, leads here again.
func (q *Queue) done(ctx context.Context, m tasks.Merge, why string) (tasks.Merge, error) {
	if err := q.Receipts.publish(ctx, m, q.Elsewhere); err != nil {
		return m, fmt.Errorf("it is merged, but its receipt could not be written: %w; then covey merge writes it", err)
	}
	next, err := q.set(ctx, m, tasks.MergeDone, why)
	if err == nil && m.Result != "" {
		q.tidy(ctx, m.Result)
	}
	if err != nil || !strings.HasPrefix(path.Base(m.Branch), taskMark) {
		return next, err
	}
	gone := worktree.Step{From: m.Commit, Why: "covey: merged"}
	if err := q.Repo.Move(ctx, ref(m.Branch), gone); err != nil && !errors.Is(err, worktree.ErrMoved) {
		return next, nil // a leftover branch does no harm
	}
	return next, nil
}

// sweep marks other work as merged that came in with the last merge.
//
// Members merge each other's work into their own (Freshen), so a branch that lands may
// contain other waiting work. Busy merges are left to attempt, which finds the same.
func (q *Queue) sweep(ctx context.Context, into string) error {
	list, err := q.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("find what else was merged: %w", err)
	}
	tip, _, err := q.counts(ctx, into)
	if err != nil {
		return nil // attempt handles it
	}
	for _, m := range list {
		if m.State.Over() || m.State.Busy() || m.Into != into {
			continue
		}
		if held, err := q.Repo.Holds(ctx, tip, m.Commit); err != nil || !held {
			continue // attempt handles it
		}
		if _, err := q.contained(ctx, m, "it came in with later work"); unlessConflict(err) != nil {
			return err
		}
	}
	return nil
}
