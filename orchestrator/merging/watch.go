package merging

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// keyWatched is the store key of a watched.
const keyWatched = "watched"

// watched is what covey last knew of the repository. It is stored, so that a move is found also
// after a kill.
type watched struct {
	Targets map[string]target `json:"targets"` // by short name of the branch
	// Checkout is what the operator's working copy is on: a branch, or a commit.
	Checkout string `json:"checkout,omitempty"`
	// Dirty are its uncommitted changes, as git status shows them.
	Dirty []string `json:"dirty,omitempty"`
	// Running means that members may have worked since.
	Running bool `json:"running,omitempty"`
}

// target is what covey knows of a branch that work is merged into.
type target struct {
	Branch string `json:"-"`      // set in lists
	Commit string `json:"commit"` // where the queue and the operator have left it; of rulesTarget, the rules
	// Moved is where it was moved past them, Asked the open request about that and Text what
	// people are told; all are empty if it was not.
	Moved string `json:"moved,omitempty"`
	Asked string `json:"asked,omitempty"`
	Text  string `json:"text,omitempty"`
	Gone  bool   `json:"gone,omitempty"` // people were told that the branch is gone
	// Pushed is what the queue has pushed to the remote, or is about to, to move the branch there after.
	Pushed string `json:"pushed,omitempty"`
}

// rulesTarget stands among the target branches for what decides about the files of a checkout
// (worktree.Repo.CheckoutRules), which a member could change in .git so that gates do not see what is
// merged. No branch can have this name.
const rulesTarget = ".git"

// Watch compares the target branches and the operator's checkout with what the queue has left.
// A branch that was moved to what a member made counts as it was before, until the operator
// accepts the move or undoes it. Without Ask, a Watch only reads. Its methods may be called from
// any goroutine.
type Watch struct {
	Repo  *worktree.Repo
	Store *tasks.Store
	// Copies returns the top folders of the members' working copies, by member.
	Copies func() map[string]string
	// Identity returns the member with a git address that only members have; empty: none.
	Identity func(email string) string
	// Shares reports whether a member works in the operator's checkout.
	Shares func() bool
	// Ask asks the operator about a move.
	Ask func(ctx context.Context, m events.TargetMoved, again string) (requests.Request, error)
	// Withdraw withdraws that question.
	Withdraw func(ctx context.Context, id, why string) error
	// Tell reports what was found.
	Tell func(events.TargetMoved)

	mu    sync.Mutex
	known *watched // nil: not yet read
}

// read returns what is known. w.mu is held.
func (w *Watch) read(ctx context.Context) (*watched, error) {
	if w.known != nil && w.Ask != nil {
		return w.known, nil
	}
	k := &watched{Targets: map[string]target{}}
	if err := tasks.ReadValue(ctx, w.Store, keyWatched, k); err != nil {
		return nil, fmt.Errorf("where the target branches were: %w", err)
	}
	w.known = k
	return k, nil
}

// save stores what is known. w.mu is held.
func (w *Watch) save(ctx context.Context) error {
	return w.Store.Put(ctx, keyWatched, texts.Encode(w.known))
}

// Commit returns the commit of a branch that counts. held is the open request about a move of
// the branch that does not count; empty: there is none.
func (w *Watch) Commit(ctx context.Context, branch string) (commit, held string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if err != nil {
		return "", "", err
	}
	now, err := w.Repo.Commit(ctx, ref(branch))
	t, ok := k.Targets[branch]
	switch {
	case ok && errors.Is(err, worktree.ErrNoRef):
		return "", "", w.gone(ctx, branch, t)
	case err != nil:
		return "", "", err
	case w.Ask == nil: // another process decides
		if t.Asked != "" && t.Moved == now {
			return t.Commit, t.Asked, nil
		}
		return now, "", nil
	case ok && now == t.Commit && t.Asked != "":
		err = w.settle(ctx, branch, now, "the branch is back", events.TargetMoved{
			Op: events.MoveUndone, Branch: branch, From: t.Moved, To: now, Text: fmt.Sprintf("%s is back at %.10s", branch, now),
		})
	case ok && now != t.Commit && now != t.Moved:
		err = w.moved(ctx, branch, t, now, "")
	case !ok:
		k.Targets[branch] = target{Commit: now}
		err = w.save(ctx)
	case t.Gone:
		t.Gone = false
		k.Targets[branch] = t
		err = w.save(ctx)
	}
	t = k.Targets[branch]
	return t.Commit, t.Asked, err
}

// pushes records what the queue is about to push as a branch.
func (w *Watch) pushes(ctx context.Context, branch, commit string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if err != nil {
		return err
	}
	t := k.Targets[branch]
	t.Pushed = commit
	k.Targets[branch] = t
	return w.save(ctx)
}

// gone tells people once that a branch is gone, and returns an error that says how to restore it.
// w.mu is held.
func (w *Watch) gone(ctx context.Context, branch string, t target) error {
	text := fmt.Sprintf("the branch %s was deleted; `git update-ref %s %s` restores it", branch, ref(branch), t.Commit)
	if !t.Gone && w.Ask != nil {
		t.Gone = true
		w.known.Targets[branch] = t
		if err := w.save(ctx); err != nil {
			return err
		}
		w.Tell(events.TargetMoved{Op: events.MovedOutside, Branch: branch, From: t.Commit, Text: text})
	}
	return fmt.Errorf("%w: %s", worktree.ErrNoRef, text)
}

// moved handles a branch that is neither where it was left nor where it was last found. again
// makes a question differ from an earlier one about the same move. w.mu is held.
func (w *Watch) moved(ctx context.Context, branch string, t target, now, again string) error {
	in, err := w.outside(ctx, branch, t.Commit, now)
	if err != nil {
		return err
	}
	m := events.TargetMoved{Op: events.MovedOutside, Branch: branch, From: t.Commit, To: now}
	m.Text = describeMove(m, in)
	queue := len(in.commits) == 0
	if queue { // the queue's own merges, or a step back
		held, err := w.Repo.Holds(ctx, now, t.Commit)
		if err != nil && !errors.Is(err, worktree.ErrNoRef) {
			return err
		}
		queue = held
	}
	if copies := len(w.Copies()) > 0; len(in.who) == 0 && !(in.untold && copies) {
		if queue || !copies {
			m = events.TargetMoved{} // without working copies there is no queue to go past
		}
		return w.settle(ctx, branch, now, "the branch has moved on", m)
	}
	if len(in.who) > 0 {
		m.Member = in.who[0]
	}
	return w.hold(ctx, m, again)
}

// hold asks the operator about a move, until which it does not count. w.mu is held.
func (w *Watch) hold(ctx context.Context, m events.TargetMoved, again string) error {
	m.Op = events.MovedByMember
	r, err := w.Ask(ctx, m, again)
	if err != nil {
		return fmt.Errorf("ask about the move of %s: %w", m.Branch, err)
	}
	old := w.known.Targets[m.Branch].Asked
	w.known.Targets[m.Branch] = target{Commit: m.From, Moved: m.To, Asked: r.ID, Text: m.Text}
	if err := w.save(ctx); err != nil {
		return err
	}
	m.Request = r.ID
	w.Tell(m)
	if old != "" && old != r.ID {
		return w.Withdraw(ctx, old, "the branch has moved on")
	}
	return nil
}

// settle records where a branch is from now on, withdraws an open question about it and reports
// m, if it has an Op. w.mu is held.
func (w *Watch) settle(ctx context.Context, branch, commit, why string, m events.TargetMoved) error {
	old := w.known.Targets[branch].Asked
	w.known.Targets[branch] = target{Commit: commit}
	if err := w.save(ctx); err != nil {
		return err
	}
	if m.Op != "" {
		w.Tell(m)
	}
	if old == "" {
		return nil
	}
	return w.Withdraw(ctx, old, why)
}

// Checkout looks whether the operator's checkout is still on the same branch, and has the same
// uncommitted changes. begins says that members begin to work, ends that none works any more:
// what changes from then on is the operator's.
func (w *Watch) Checkout(ctx context.Context, begins, ends bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if err != nil {
		return err
	}
	head, err := w.Repo.Head(ctx)
	if err != nil {
		return fmt.Errorf("look at the checkout: %w", err)
	}
	dirty, err := w.Repo.Dirty(ctx)
	if err != nil {
		return fmt.Errorf("look at the checkout: %w", err)
	}
	before := *k
	k.Checkout, k.Dirty, k.Running = checkoutName(head), dirty, !ends
	if err := w.save(ctx); err != nil {
		return err
	}
	if len(w.Copies()) == 0 || before.Checkout == "" {
		return nil
	}
	if m := (events.TargetMoved{Op: events.CheckoutChanged, From: before.Checkout, To: k.Checkout}); m.From != m.To {
		m.Text = fmt.Sprintf("your checkout was switched from %s to %s", m.From, m.To)
		w.Tell(m)
	}
	if begins && !before.Running || w.Shares() || slices.Equal(before.Dirty, dirty) {
		return nil
	}
	text := "your checkout has other uncommitted changes than before"
	if fresh := notIn(dirty, before.Dirty); len(fresh) > 0 {
		text += "; new: " + texts.Preview(strings.Join(fresh, ", "), 300)
	}
	if gone := notIn(before.Dirty, dirty); len(gone) > 0 {
		text += "; gone: " + texts.Preview(strings.Join(gone, ", "), 300)
	}
	w.Tell(events.TargetMoved{Op: events.CheckoutChanged, Text: text})
	return nil
}

// held returns the targets whose moves the operator has to answer, in the order of their branches.
func (w *Watch) held(ctx context.Context) ([]target, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	var list []target
	for _, branch := range slices.Sorted(maps.Keys(k.Targets)) {
		if t := k.Targets[branch]; t.Asked != "" {
			t.Branch = branch
			list = append(list, t)
		}
	}
	return list, nil
}

// Branches returns the branches that are watched.
func (w *Watch) Branches(ctx context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(k.Targets)), func(b string) bool { return b == rulesTarget }), nil
}

// Begin records the rules for checkouts, unless an earlier run has: the first that counts is what
// was before any member has worked.
func (w *Watch) Begin(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if _, known := k.Targets[rulesTarget]; known || err != nil {
		return err
	}
	rules, err := w.Repo.CheckoutRules(ctx)
	if err != nil {
		return err
	}
	k.Targets[rulesTarget] = target{Commit: strings.Join(rules, "\n")}
	return w.save(ctx)
}

// Rules compares the rules for checkouts with those that count. held is the question about
// a difference; empty: there is none.
func (w *Watch) Rules(ctx context.Context) (held string, err error) {
	rules, err := w.Repo.CheckoutRules(ctx)
	if err != nil {
		return "", fmt.Errorf("look at the settings for checkouts: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if err != nil {
		return "", err
	}
	t, known := k.Targets[rulesTarget]
	m := events.TargetMoved{Branch: rulesTarget, From: t.Commit, To: strings.Join(rules, "\n")}
	switch {
	case !known || m.To == t.Commit && t.Asked == "":
		return "", nil
	case m.To == t.Commit:
		m.Op, m.Text = events.MoveUndone, "the settings for checkouts are as they were"
		return "", w.settle(ctx, rulesTarget, t.Commit, m.Text, m)
	case m.To != t.Moved:
		m.Text = "what decides about the files of a checkout has changed since the team's first start, so gates may not see what is merged: " +
			texts.Preview(strings.Join(changedRules(strings.Split(m.From, "\n"), rules), ", "), 300)
		err = w.hold(ctx, m, "")
	}
	return k.Targets[rulesTarget].Asked, err
}

// changedRules names the rules for checkouts that differ.
func changedRules(before, now []string) []string {
	var names []string
	for _, rule := range append(notIn(now, before), notIn(before, now)...) {
		if name, _, _ := strings.Cut(rule, "="); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Answered accepts a move or undoes it, as the operator has answered. An answer about an earlier
// move changes nothing. It may be called again after a crash.
func (w *Watch) Answered(ctx context.Context, r requests.Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.read(ctx)
	if err != nil {
		return err
	}
	for branch, t := range k.Targets {
		if t.Asked != r.ID {
			continue
		}
		m := events.TargetMoved{Op: events.MoveAccepted, Branch: branch, From: t.Commit, To: t.Moved}
		m.Text = fmt.Sprintf("the move of %s to %.10s is accepted", branch, t.Moved)
		if branch == rulesTarget {
			m.Text = "the changed settings for checkouts are accepted"
		}
		if !r.Approved() {
			kept, err := w.undo(ctx, branch, t)
			if err != nil {
				return w.cannotUndo(ctx, branch, t, r.ID, err)
			}
			m = events.TargetMoved{Op: events.MoveUndone, Branch: branch, From: t.Moved, To: t.Commit}
			m.Text = fmt.Sprintf("%s was moved back to %.10s; %s has the commits that it had", branch, t.Commit, kept)
		}
		k.Targets[branch] = target{Commit: m.To}
		if err := w.save(ctx); err != nil {
			return err
		}
		w.Tell(m)
		return nil
	}
	return nil
}

// undo moves a branch back. kept is the reference that keeps the removed commits.
func (w *Watch) undo(ctx context.Context, branch string, t target) (kept string, err error) {
	if branch == rulesTarget {
		return "", errors.New("covey does not change settings of git")
	}
	now, err := w.Repo.Commit(ctx, ref(branch))
	if err != nil {
		return "", err
	}
	kept = fmt.Sprintf("refs/covey/rescue/%s/%.12s", branch, t.Moved)
	if now == t.Commit {
		return kept, nil // a crash came after it
	}
	if now != t.Moved {
		return "", fmt.Errorf("it has moved again, to %.10s", now)
	}
	why := "covey: " + branch + " is moved back"
	if err := w.Repo.Move(ctx, kept, worktree.Step{To: now, Why: why}); err != nil && !errors.Is(err, worktree.ErrMoved) {
		return "", fmt.Errorf("keep the commits: %w", err)
	}
	there, err := w.Repo.On(ctx, branch)
	if err != nil || there == nil {
		if err == nil {
			err = w.Repo.Move(ctx, ref(branch), worktree.Step{From: now, To: t.Commit, Why: why})
		}
		return kept, err
	}
	return kept, there.Retreat(ctx, t.Commit)
}

// cannotUndo reports why a move was not undone, and asks again. w.mu is held.
func (w *Watch) cannotUndo(ctx context.Context, branch string, t target, answered string, why error) error {
	if branch == rulesTarget {
		return w.hold(ctx, events.TargetMoved{Branch: branch, From: t.Commit, To: t.Moved, Text: t.Text}, answered)
	}
	now, err := w.Repo.Commit(ctx, ref(branch))
	if err != nil {
		return fmt.Errorf("move %s back: %w", branch, errors.Join(why, err))
	}
	w.Tell(events.TargetMoved{
		Op: events.MovedOutside, Branch: branch, From: t.Moved, To: t.Commit,
		Text: fmt.Sprintf("%s cannot be moved back to %.10s: %v", branch, t.Commit, why),
	})
	w.known.Targets[branch] = target{Commit: t.Commit}
	return w.moved(ctx, branch, w.known.Targets[branch], now, answered)
}

// checkoutName returns what a checkout is on, for people.
func checkoutName(head worktree.Head) string {
	if head.Branch == "" {
		return fmt.Sprintf("%.10s, without a branch", head.Commit)
	}
	return head.Branch
}

// notIn returns the entries of a list that another one lacks.
func notIn(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(f string) bool { return slices.Contains(other, f) })
}
