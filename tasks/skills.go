package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
)

// Skills are what a member has of what tasks may want (Wants).
type Skills struct {
	Role   string   // what it is; empty: nothing that a task could ask for
	Labels []string // what it is good at
	Tools  []string // what it can call; nil: every tool
}

// Lacking names what of w a member with these skills does not have: "tool Bash",
// "label go", "role reviewer". Nothing: the member may take the task by itself.
// Whoever hands a task to somebody knows why, so wishes bind nobody else.
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

// Suits reports whether a member with these skills lacks nothing of w.
func (w Wants) Suits(has Skills) bool { return len(w.Lacking(has)) == 0 }

// Terms are what binds a member that takes a task. The zero value binds nobody.
type Terms struct {
	// Max is how many tasks the member may have in progress, the new one included;
	// 0: any number.
	Max int
	// Skills are what the member has; nil: it need not be looked at. They count only
	// for what it takes by itself.
	Skills *Skills
}

// unsuited refuses a task that a member takes by itself without having what it
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

// full refuses one more task in progress. busy are the ids of those that the
// member has, at least as many as Max.
func (m Terms) full(t Task, member string, busy []string) error {
	if m.Max == 0 || len(busy) < m.Max {
		return nil
	}
	return fmt.Errorf("%w: %s has %s already (limit %d); complete or release it before claiming %s",
		ErrBusy, member, taskList(busy), m.Max, t.ID)
}

// takes says what an update makes of a task's owner: whether somebody has it in
// progress now who had not, and whether it took the task by itself. Every way to
// work goes through here, so no status, owner or order of calls gets past the terms.
func takes(a actors.Actor, was, now Task) (begins, byItself bool) {
	other := now.Owner != "" && now.Owner != was.Owner
	begins = now.Status == InProgress && (other || was.Status != InProgress)
	return begins, other && now.Owner == a.Name
}

// heed holds an update to the terms of whoever has the task after it.
func (t *txn) heed(a actors.Actor, was, now Task, terms func(member string) Terms) error {
	if terms == nil || now.Owner == "" {
		return nil
	}
	begins, byItself := takes(a, was, now)
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

// busy gives the ids of tasks that a member has in progress, no more than the
// decision needs: limit of them, and none for 0.
func (t *txn) busy(member string, limit int) []string {
	if limit <= 0 {
		return nil
	}
	return kv.FormatIDs(t.Bucket(bucketProgress).Numbers(kv.NameKey(member), limit))
}
