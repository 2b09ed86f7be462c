package tasks

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/tasks/actors"
)

// leadsTo reports whether an update may move a task from s to next.
//
// Completed leads back to pending (the work was found wanting), but not straight to
// in progress: the tasks that depend on it have to be blocked again first. Proposed
// tasks move by Confirm and Discard only.
func (s Status) leadsTo(next Status) bool {
	switch s {
	case Pending:
		return next == InProgress || next == Completed
	case InProgress:
		return next == Pending || next == Completed
	case Completed:
		return next == Pending
	}
	return false
}

// open reports whether there is still work to do on a task in this state.
func (s Status) open() bool { return s == Pending || s == InProgress }

// claimable decides whether the member may claim t. blockers are the ids of t's
// blockers that are not completed. busy are the ids of the tasks that the member has
// in progress, at least c.Max of them if there are as many. If again is true, the
// member already has t in progress and there is nothing to do.
func (c Claim) claimable(t Task, blockers, busy []string) (again bool, err error) {
	switch {
	case t.Status == Completed:
		return false, fmt.Errorf("task %s is %w", t.ID, ErrDone)
	case t.Status == InProgress && t.Owner == c.Member:
		return true, nil
	case t.Owner != "" && t.Owner != c.Member:
		return false, fmt.Errorf("task %s is %w: %s (%s)", t.ID, ErrOwned, t.Owner, t.Status)
	case len(blockers) > 0:
		return false, blockedError(t.ID, blockers)
	case t.Owner == "": // a task that was assigned to the member is not checked
		if err := c.terms().unsuited(t, c.Member); err != nil {
			return false, err
		}
	}
	return false, c.terms().full(t, c.Member, busy)
}

// The functions below are pure: what they need to know of other tasks is passed in,
// and the caller writes what they decide.

// advance returns t with the patch's subject, active form, owner and status, and the
// names of the fields that differ. blockers are as for claimable, with those that the
// patch adds.
func (p Patch) advance(t Task, a actors.Actor, blockers []string) (Task, []string, error) {
	was := t
	setString(&t.Subject, p.Subject)
	setString(&t.ActiveForm, p.ActiveForm)
	setString(&t.Owner, p.Owner)
	if p.Status != nil {
		t.Status = *p.Status
	}
	if t.Status != was.Status && !was.Status.leadsTo(t.Status) {
		return was, nil, transitionError(was, t.Status)
	}
	if t.Status == InProgress && was.Status != InProgress {
		if t.Owner == "" && p.Owner == nil && a.Member() {
			t.Owner = a.Name
		}
		if len(blockers) > 0 {
			return was, nil, blockedError(t.ID, blockers)
		}
	}
	if t.Status == InProgress && t.Owner == "" {
		return was, nil, fmt.Errorf("%w: task %s cannot be in progress without an owner: "+
			"name one, or set it to pending", ErrInvalid, t.ID)
	}
	if t.Owner != was.Owner || (t.Status == InProgress) != (was.Status == InProgress) {
		t.Epoch++
	}
	return t, differing(was, t), nil
}

// setsOutcome reports whether the patch decides the outcome of the work on a task.
// Starting it (again) does not.
func (p Patch) setsOutcome() bool {
	return p.Status != nil && *p.Status != InProgress
}

// admits refuses a patch that was made for another version or epoch of t.
func (p Patch) admits(t Task) error {
	if p.Version != 0 && p.Version != t.Version {
		return fmt.Errorf("task %s %w: version %d, expected %d; read it again",
			t.ID, ErrConflict, t.Version, p.Version)
	}
	if p.Epoch != 0 && p.Epoch != t.Epoch {
		return fmt.Errorf("%w: task %s is at epoch %d, not %d", ErrStale, t.ID, t.Epoch, p.Epoch)
	}
	return nil
}

// differing names the fields that advance has changed, in the order in which
// TaskUpdate lists them.
func differing(was, now Task) []string {
	var names []string
	for _, f := range []struct {
		name   string
		differ bool
	}{
		{"subject", was.Subject != now.Subject},
		{"activeForm", was.ActiveForm != now.ActiveForm},
		{"owner", was.Owner != now.Owner},
		{"status", was.Status != now.Status},
	} {
		if f.differ {
			names = append(names, f.name)
		}
	}
	return names
}

// setString sets a field if the patch names it.
func setString(field *string, value *string) {
	if value != nil {
		*field = *value
	}
}

// blockedError names the blockers, so that a member knows which tasks to wait for.
func blockedError(id string, blockers []string) error {
	return fmt.Errorf("task %s is %w by %s", id, ErrBlocked, taskList(blockers))
}

// transitionError distinguishes an unknown status from a step that is not allowed.
func transitionError(t Task, next Status) error {
	switch {
	case next != Pending && next != InProgress && next != Completed:
		return fmt.Errorf("%w: status %q; it is one of %s, %s, %s",
			ErrInvalid, string(next), Pending, InProgress, Completed)
	case t.Status == Completed:
		return fmt.Errorf("%w: task %s is completed; set it to %s to open it again", ErrTransition, t.ID, Pending)
	}
	return fmt.Errorf("%w: task %s is %s, not to be set to %s", ErrTransition, t.ID, t.Status, next)
}

// taskList formats ids for people: "task 1", "tasks 1, 2 and 30 more".
func taskList(ids []string) string {
	const shown = 10
	if len(ids) == 1 {
		return "task " + ids[0]
	}
	if len(ids) > shown {
		return fmt.Sprintf("tasks %s and %d more", strings.Join(ids[:shown], ", "), len(ids)-shown)
	}
	return "tasks " + strings.Join(ids, ", ")
}
