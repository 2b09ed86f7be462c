package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// Skills are what a member has of the things that tasks may want (Wants).
type Skills struct {
	Role   string   // empty: none
	Labels []string // its areas of work
	Tools  []string // the tools it can call; nil: every tool
}

// Lacking returns what of w a member with these skills does not have: "tool Bash",
// "label go", "role reviewer". If nothing is missing, the member may take the task by
// itself. Wants do not restrict a task that somebody else hands to a member.
func (w Wants) Lacking(has Skills) []string {
	var lacks []string
	if w.Role != "" && w.Role != has.Role {
		lacks = append(lacks, "role "+w.Role)
	}
	for _, label := range w.Labels {
		if !slices.Contains(has.Labels, label) {
			lacks = append(lacks, "label "+label)
		}
	}
	for _, tool := range w.Tools {
		if has.Tools != nil && !slices.Contains(has.Tools, tool) {
			lacks = append(lacks, "tool "+tool)
		}
	}
	return lacks
}

// Empty reports whether a task wants nothing in particular.
func (w Wants) Empty() bool { return w.Role == "" && len(w.Tools)+len(w.Labels) == 0 }

// Suits reports whether a member with these skills lacks nothing of w.
func (w Wants) Suits(has Skills) bool { return len(w.Lacking(has)) == 0 }

// Terms are what binds a member that takes a task. The zero value sets no limit.
type Terms struct {
	// Max is how many tasks the member may have in progress, the new one included;
	// 0: any number.
	Max int
	// Skills are what the member has; nil: they are not checked. They apply only to
	// tasks that the member takes by itself.
	Skills *Skills
}

// unsuited refuses a task that a member takes by itself if it lacks what the task
// wants.
func (m Terms) unsuited(t Task, member string) error {
	if m.Skills == nil {
		return nil
	}
	if lacks := t.Wants.Lacking(*m.Skills); len(lacks) > 0 {
		return fmt.Errorf("task %s is %w: it wants %s, which %s does not have; somebody else may take it, "+
			"or the lead may hand it over", t.ID, ErrUnsuited, strings.Join(lacks, ", "), member)
	}
	return nil
}

// full refuses one more task in progress. busy are the ids of the tasks that the
// member has in progress, at least Max of them if there are as many.
func (m Terms) full(t Task, member string, busy []string) error {
	if m.Max == 0 || len(busy) < m.Max {
		return nil
	}
	return fmt.Errorf("%w: %s has %s already (limit %d); complete or release it before claiming %s",
		ErrBusy, member, taskList(busy), m.Max, t.ID)
}

// ownershipChange reports whether an update puts the task in progress with a new
// member, and whether the actor takes the task by itself. Every way to start a task
// passes through here, so no order of calls evades the terms.
func ownershipChange(a actors.Actor, was, now Task) (begins, byItself bool) {
	other := now.Owner != "" && now.Owner != was.Owner
	begins = now.Status == InProgress && (other || was.Status != InProgress)
	return begins, other && now.Owner == a.Name
}

// checkTerms checks an update against the terms of the task's owner after it.
func (t *txn) checkTerms(a actors.Actor, was, now Task, terms func(member string) Terms) error {
	if terms == nil || now.Owner == "" {
		return nil
	}
	begins, byItself := ownershipChange(a, was, now)
	if !begins && !byItself {
		return nil
	}
	m := terms(now.Owner)
	if byItself {
		if err := m.unsuited(now, now.Owner); err != nil {
			return err
		}
	}
	if !begins {
		return nil
	}
	return m.full(now, now.Owner, t.busy(now.Owner, m.Max))
}

// busy returns the ids of up to limit tasks that a member has in progress, and none
// for limit 0.
func (t *txn) busy(member string, limit int) []string {
	if limit <= 0 {
		return nil
	}
	return store.FormatIDs(t.Bucket(bucketProgress).Numbers(store.NameKey(member), limit))
}
