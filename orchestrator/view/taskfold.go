package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// isWorkOf reports whether a member owns the task and has it in progress.
func (t *Task) isWorkOf(member string) bool {
	return !t.Deleted && t.Status == tasks.InProgress && t.Owner == member
}

// addLine adds a line that names the task.
func (t *Task) addLine(seq uint64) {
	if t.First == 0 {
		t.First = seq
	}
	t.Last = seq
	if n := len(t.Lines); n == 0 || t.Lines[n-1] != seq {
		t.Lines = newest(append(t.Lines, seq), maxLines)
	}
}

// addTaskLine is addLine for a task that may not be known.
func (s *State) addTaskLine(id string, l events.Event) {
	if t := s.Task(id); t != nil {
		t.addLine(l.Seq)
	}
}

// extend adds a line of the task's owner, which has it in progress. answer is the first line of the
// answer of a model to which the line belongs, or 0: an answer can claim a task and work on it, and
// its calls are written down before the claim.
func (t *Task) extend(l events.Event, answer uint64) {
	t.Last = l.Seq
	if n := len(t.Spans); n > 0 {
		if last := &t.Spans[n-1]; last.Member == l.Member && last.Turn == l.Turn {
			last.Last = l.Seq
			return
		}
	}
	span := Span{Member: l.Member, Turn: l.Turn, First: cmp.Or(answer, l.Seq), Last: l.Seq}
	if n := len(t.Spans); n > 0 {
		span.First = max(span.First, min(t.Spans[n-1].Last+1, l.Seq))
	}
	t.Spans = newest(append(t.Spans, span), maxSpans)
}

// RefusalOf returns the refusal of a task's completion that a line reports, with its whole text:
// of a member's call, or at the end of its turn.
func RefusalOf(l events.Event) (task string, r Return, ok bool) {
	r = Return{Seq: l.Seq, Time: l.Time, Kind: "refused", Member: l.Member, Turn: l.Turn}
	switch e := l.Data.(type) {
	case events.HookFeedback:
		task, r.Reason = e.TaskID, e.Text
	case events.TaskChanged:
		if e.Op != tasks.Refused {
			return "", r, false
		}
		task, r.Reason = e.Task.ID, e.Reason
	}
	return task, r, task != ""
}

// Creates reports whether a line creates a task, so that earlier lines do not name it.
func Creates(l events.Event, task string) bool {
	c, ok := l.Data.(events.TaskChanged)
	return ok && c.Op == tasks.Created && c.Task.ID == task
}

// refused keeps a refusal.
func (t *Task) refused(r Return) {
	r.Reason = cut(Reason("TaskCompleted", r.Reason))
	t.Refusals++
	t.returned(r)
}

// returned keeps a Return.
func (t *Task) returned(r Return) { t.Returns = newest(append(t.Returns, r), maxReturns) }

// changed handles a line of type task. What a refusal or a wait contains has not changed the
// task.
func (s workFold) changed(l events.Event, c tasks.Change) {
	if c.Task.ID == "" {
		return
	}
	t, isNew := s.task(c.Task.ID)
	t.addLine(l.Seq)
	switch {
	case c.Op == tasks.Refused:
		_, r, _ := RefusalOf(l)
		r.By = s.refusers(t.ID)
		t.refused(r)
		if c.Task.Status == tasks.Proposed {
			t.Task, t.Deleted = slim(c.Task), true // it was never there
			return
		}
	case c.Op == tasks.Awaits:
		t.Awaits = cut(c.Reason)
	default:
		isNew = true
		t.Awaits = ""
	}
	if isNew {
		s.replace(l, t, c)
	}
}

// refusers returns the hooks that refused in the last gate of a task.
func (s workFold) refusers(id string) string {
	for _, g := range slices.Backward(s.Gates) {
		if g.Task == id {
			return strings.Join(g.By, ", ")
		}
	}
	return ""
}

// KeyRevises is the metadata key of a task that revises merged work: the id of the task that was sent back.
const KeyRevises = "covey.revises"

// replace replaces what is known of a task, and passes it from one owner to the next.
func (s workFold) replace(l events.Event, t *Task, c tasks.Change) {
	before := t.Task
	t.Task, t.Deleted = slim(c.Task), c.Op == tasks.Deleted
	if t.Status != tasks.Completed {
		t.Completed = time.Time{}
	}
	switch c.Op {
	case tasks.TaskCompleted:
		t.Completed = l.Time
		run := s.run()
		run.Turns = run.Turns.Of(0, 0, 1)
		if m := s.Member(t.Owner); m != nil {
			m.Done.Complete(t.ID)
			m.Unreported = newest(append(m.Unreported, t.ID), maxLines)
		}
	case tasks.Released:
		t.returned(Return{Seq: l.Seq, Time: l.Time, Kind: "released", Member: before.Owner, By: c.By, Reason: cut(c.Reason)})
	case tasks.Created:
		var revised string
		if json.Unmarshal(c.Task.Metadata[KeyRevises], &revised) == nil {
			s.sentBack(s.Task(revised), Return{Seq: l.Seq, Time: l.Time, Member: t.Owner, By: c.By, Reason: "revised as task " + t.ID})
		}
	}
	if before.Status == tasks.Completed && t.Status == tasks.Pending && c.By == actors.Operator {
		s.sentBack(t, Return{Seq: l.Seq, Time: l.Time, Member: before.Owner, By: c.By, Reason: cut(c.Reason)})
	}
	t.pass(l, c)
	for _, name := range []string{before.Owner, t.Owner} {
		if m := s.Member(name); m != nil {
			m.assign(t)
		}
	}
	turn := s.found().turns[t.Owner]
	if turn != nil && t.isWorkOf(t.Owner) && !slices.Contains(turn.Tasks, t.ID) {
		turn.Tasks = append(turn.Tasks, t.ID)
	}
}

// pass updates who owned the task when.
func (t *Task) pass(l events.Event, c tasks.Change) {
	over := t.Deleted || t.Status == tasks.Completed
	if n := len(t.Owners); n > 0 {
		if last := &t.Owners[n-1]; last.Until.IsZero() && (over || last.Owner != t.Owner) {
			last.Until, last.End = l.Time, string(c.Op)
		}
	}
	if over || t.Owner == "" {
		return
	}
	if n := len(t.Owners); n == 0 || !t.Owners[n-1].Until.IsZero() {
		owned := Owned{Owner: t.Owner, By: c.By, Epoch: t.Epoch, Since: l.Time}
		t.Owners = newest(append(t.Owners, owned), maxOwners)
	}
	if last := &t.Owners[len(t.Owners)-1]; t.Status == tasks.InProgress && last.Claimed.IsZero() {
		last.Claimed = l.Time
	}
}

// assign updates whether a task is among those that the member has in progress.
func (m *Member) assign(t *Task) {
	m.InProgress = slices.DeleteFunc(m.InProgress, func(id string) bool { return id == t.ID })
	if !t.isWorkOf(m.Name) {
		return
	}
	i := 0
	for i < len(m.InProgress) && tasks.CompareIDs(m.InProgress[i], t.ID) < 0 {
		i++
	}
	m.InProgress = slices.Insert(m.InProgress, i, t.ID)
}

// slim returns a task with its texts cut.
func slim(t tasks.Task) tasks.Task {
	t.Subject, t.Description, t.ActiveForm = cut(t.Subject), cut(t.Description), cut(t.ActiveForm)
	t.Evidence = slices.Clone(t.Evidence)
	for i := range t.Evidence {
		t.Evidence[i].Text = cut(t.Evidence[i].Text)
	}
	kept := map[string]json.RawMessage{}
	for key, value := range t.Metadata {
		if len(value) <= lineWidth {
			kept[key] = value
		}
	}
	t.Metadata = kept
	return t
}
