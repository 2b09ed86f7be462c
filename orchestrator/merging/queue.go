package merging

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// Rules are what a team's spec says about merging.
type Rules struct {
	Into      string              // short name of the branch; empty: the one that Repo is on
	Pull      bool                // pull requests are prepared, and no branch is moved
	PerMember bool                // one branch per member; else one per task
	Auto      bool                // finished work is queued unasked
	Owns      map[string][]string // what members may write; nil, or no entry: everything
	Protect   []string            // what nobody may change unasked
	Approve   bool                // all work needs somebody's approval
	Members   []string            // who can be given a task
}

// Trial is a merged state that gates are to look at.
type Trial struct {
	tasks.Merge
	Copy *worktree.Repo // is on Merge.Result; nobody works in it
}

// Answer is what a person said to a question, or that nobody has answered yet.
type Answer struct {
	Yes, No bool
	Late    bool   // nobody has answered in time: the question is over, and was not answered
	ID      string // of the question
	Text    string // said with a No
}

// Queue merges finished work, one piece after another. Fields are set before it is
// used and not changed; Repo, Store and Scratch are required.
type Queue struct {
	Rules   Rules
	Spec    func() Rules   // in place of Rules, where they change; nil: they do not
	Repo    *worktree.Repo // seen from the workspace
	Store   *tasks.Store
	Scratch string // a folder that does not exist, or is the queue's from earlier
	Papers  string // folder for what pull requests are opened with
	// Prepare makes a new working copy fit for gates: setup commands, files that are
	// not in the repository; nil: nothing.
	Prepare func(ctx context.Context, dir string) error
	// Gates asks the gates; a refusal is what they said, empty: they agree. An error
	// says nothing about the work. nil: there are none.
	Gates func(ctx context.Context, t Trial) (refusal string, err error)
	// Ask puts work before whoever must agree to it: a change of protected files, or
	// all work; nil: there is nobody.
	Ask func(ctx context.Context, m tasks.Merge, files []string) (Answer, error)
	// Landing is told before files of somebody's working copy come along with their branch,
	// and landed after; nil: nobody is told.
	Landing func() (landed func())

	working sync.Mutex
}

// maxTries bounds how often one piece of work is merged and tested anew because its
// branch moved meanwhile.
const maxTries = 5

// maxRounds is how often work goes back to its author before a person is asked.
const maxRounds = 3

// rules are what holds now.
func (q *Queue) rules() Rules {
	if q.Spec != nil {
		return q.Spec()
	}
	return q.Rules
}

// Target is the branch that work is for. It fails if the spec names none and the
// workspace is on none.
//
// It is asked anew for each piece of work and not kept, because people check out
// branches while a team works.
func (q *Queue) Target(ctx context.Context) (string, error) {
	if q.rules().Into != "" {
		return q.rules().Into, nil
	}
	head, err := q.Repo.Head(ctx)
	if err == nil && head.Branch == "" {
		err = fmt.Errorf("%s is on no branch: check one out, or name it in the spec (merge: {into: main})", q.Repo.Top)
	}
	return head.Branch, err
}

// Recover brings merges that a crash cut off back into the queue, or notes that they
// are done. It is called before anything else.
//
// Work that was being tested or landed goes back to the beginning and not to where it
// stood: the branch may have moved since, and a verdict about another base says nothing.
// If it had landed, attempt finds the branch to hold it.
func (q *Queue) Recover(ctx context.Context) error {
	list, err := q.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("recover merges: %w", err)
	}
	for _, m := range list {
		switch m.State {
		case tasks.MergeTesting, tasks.MergeLanding:
			// Whether the branch was moved is for git to say; see attempt.
			if _, err := q.set(ctx, m, tasks.MergeQueued, ""); err != nil {
				return fmt.Errorf("recover merges: %w", err)
			}
		case tasks.MergeHeld:
			// What was in the way may be gone, and who was asked may have answered.
			if _, err := q.set(ctx, m, tasks.MergeQueued, m.Reason); err != nil {
				return fmt.Errorf("recover merges: %w", err)
			}
		}
	}
	return nil
}

// Work merges what is queued until nothing is. It fails only if the store does, or
// ctx ends: what is wrong with one piece of work holds up no other.
//
// One worker at a time, as each merge is tested on top of the one before it. That the
// same version of the same merge comes up twice means that a step has stored nothing; it
// would go round for ever, so it is told as the fault that it is.
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
			return fmt.Errorf("merge %s of %s does not get on; this is a fault of covey's", last.ID, last.Branch)
		}
		last = list[i]
		if err := q.one(ctx, last); err != nil {
			return err
		}
	}
}

// one takes a piece of work as far as it can go now.
//
// Trouble with git or a gate that cannot be run holds the piece of work and says why;
// Recover and `covey merge` try it again. Only trouble with the store goes on upwards,
// since no step of anything could be stored then.
func (q *Queue) one(ctx context.Context, m tasks.Merge) error {
	for range maxTries {
		next, err := q.attempt(ctx, m)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, tasks.ErrConflict):
			return nil // somebody has changed it: it is looked at anew
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
		fmt.Sprintf("%s moved each of the %d times that this was tested; covey merge tries again", m.Into, maxTries))
	return unlessConflict(err)
}

// storeError is trouble with the store, after which nothing can go on.
type storeError struct{ error }

// Unwrap gives the store's own error.
func (e *storeError) Unwrap() error { return e.error }

// unlessConflict is err, unless it says that somebody else was faster.
func unlessConflict(err error) error {
	if errors.Is(err, tasks.ErrConflict) {
		return nil
	}
	return err
}

// set changes a merge's state and reason.
//
// It goes by the version of m: a merge that people have changed meanwhile stays as they
// have it, and the error wraps tasks.ErrConflict.
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

// ref is the full name of a branch.
func ref(branch string) string { return "refs/heads/" + branch }

// attempt goes through all steps of one merge once. A merge that it gives back busy
// has to be attempted again, for its branch has moved. With an error it gives back
// the merge as it was last stored.
//
// The order matters. What is cheap and says no for certain comes first: conflicts,
// emptiness, files of others. People are asked before the gates run, because a gate may
// take long and need not judge what is not wanted. The branch that is merged into is
// not touched before testAndLand has stored that it will be.
func (q *Queue) attempt(ctx context.Context, m tasks.Merge) (tasks.Merge, error) {
	m.Asked = "" // what it is held for next may be something else
	base, err := q.Repo.Commit(ctx, ref(m.Into))
	if errors.Is(err, worktree.ErrNoRef) {
		return q.set(ctx, m, tasks.MergeHeld, fmt.Sprintf("there is no branch %s to merge into", m.Into))
	}
	if err != nil {
		return m, err
	}
	held, err := q.Repo.Holds(ctx, base, m.Commit)
	if err != nil {
		return m, err
	}
	if held {
		// Where it was merged by somebody else, what was last tested is not what they made.
		if there, err := q.Repo.Holds(ctx, base, m.Result); m.Result != "" && (err != nil || !there) {
			m.Result = ""
		}
		return q.done(ctx, m, "")
	}
	o, err := q.Foresee(ctx, m, base)
	if err != nil {
		return m, err
	}
	switch {
	case len(o.Conflicts) > 0:
		return q.back(ctx, m, conflict(m, o.Conflicts))
	case o.Empty:
		return q.set(ctx, m, tasks.MergeDropped, "it changes nothing in "+m.Into)
	case len(o.Outside) > 0:
		return q.back(ctx, m, trespass(m, o.Outside, q.rules().Owns[m.Member]))
	}
	if len(o.Protected) > 0 || q.rules().Approve {
		if next, ok, err := q.allowed(ctx, m, o.Protected); !ok || err != nil {
			return next, err
		}
	}
	return q.testAndLand(ctx, m, base, o.Tree)
}

// testAndLand asks the gates about the merged state and moves the branch to it.
//
// The commit is made before it is tested, so that what is tested and what lands is the
// same object. No branch names it until then; if it is refused, git clears it away some
// day. Landing is stored as a state of its own before the branch moves: after a crash
// it is known that the branch may have moved already.
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
	refusal, err := q.test(ctx, m)
	switch {
	case err != nil:
		return m, err
	case refusal != "":
		return q.back(ctx, m, refused(m, refusal))
	case q.rules().Pull:
		return q.prepare(ctx, m)
	}
	if m, err = q.set(ctx, m, tasks.MergeLanding, ""); err != nil {
		return m, fmt.Errorf("commit the merged state: %w", err)
	}
	return q.land(ctx, m)
}

// done notes that a branch holds the work. The branch of a task has served then.
func (q *Queue) done(ctx context.Context, m tasks.Merge, why string) (tasks.Merge, error) {
	next, err := q.set(ctx, m, tasks.MergeDone, why)
	if err != nil || !strings.HasPrefix(path.Base(m.Branch), taskMark) {
		return next, err
	}
	gone := worktree.Step{From: m.Commit, Why: "covey: merged"}
	if err := q.Repo.Move(ctx, ref(m.Branch), gone); err != nil && !errors.Is(err, worktree.ErrMoved) {
		return next, nil // a branch too many does no harm
	}
	return next, nil
}

// sweep notes of other work that it came in along with what was merged last.
//
// Members merge each other's work into their own (Freshen), so that a branch that lands
// may hold what still waits elsewhere. Merges that are Busy are left to attempt, which
// finds the same.
func (q *Queue) sweep(ctx context.Context, into string) error {
	list, err := q.Store.Merges().List(ctx)
	if err != nil {
		return fmt.Errorf("what came in along: %w", err)
	}
	for _, m := range list {
		if m.State.Over() || m.State.Busy() || m.Into != into {
			continue
		}
		if held, err := q.Repo.Holds(ctx, ref(into), m.Commit); err != nil || !held {
			continue // it is looked at when its turn comes
		}
		if _, err := q.done(ctx, m, "it came in with later work"); unlessConflict(err) != nil {
			return err
		}
	}
	return nil
}
