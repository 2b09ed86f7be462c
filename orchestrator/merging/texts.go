package merging

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// KeyMerge is the metadata key of a task that repairs work: the id of the merge.
const KeyMerge = "covey.merge"

// setback is a reason to return work to its author.
type setback struct {
	reason string   // one line, for people
	files  []string // the files concerned
	title  string   // of the author's task
	todo   string   // what the author is to do
	person bool     // a person refused it
}

// conflict is the setback of work that changes the same lines as other work.
func conflict(m tasks.Merge, files []string) setback {
	return setback{
		reason: "it conflicts with " + m.Into, files: files,
		title: "Resolve the merge conflict of " + name(m),
		todo: fmt.Sprintf("Your work (%s) cannot be merged into %s: both have changed the same lines of\n%s\n"+
			"In your working copy run `git merge %s`, resolve the conflicts so that both changes hold, check the result "+
			"and commit it. Then set this task to completed; it is merged again.", subject(m), m.Into, writes.List(files), m.Into),
	}
}

// refused is the setback of work whose merged state the gates refuse.
func refused(m tasks.Merge, said string) setback {
	return setback{
		reason: fmt.Sprintf("the gates refuse the merged state %.10s: ", m.Result) +
			view.Reason(string(hooks.TaskCompleted), said),
		title: "Fix what the merge gates refuse in " + name(m),
		todo: fmt.Sprintf("Your work (%s) was merged with %s for a trial, and the gates refuse the result "+
			"(commit %.10s):\n\n%s\n\nIn your working copy run `git merge %s`, fix it there and commit it. "+
			"Then set this task to completed; it is merged again.", subject(m), m.Into, m.Result, strings.TrimRight(said, "\n"), m.Into),
	}
}

// notOwned is the setback of work outside of what its author owns.
func notOwned(m tasks.Merge, files, owns []string) setback {
	return setback{
		reason: m.Member + " may not write there", files: files,
		title: "Undo changes outside your files in " + name(m),
		todo: fmt.Sprintf("Your work (%s) changes files that are not yours:\n%s\nYou may write to %s. %s Then set this task to "+
			"completed; it is merged again.", subject(m), writes.List(files), strings.Join(owns, ", "), writes.UndoText(m.Into, files)),
	}
}

// denied is the setback of work that an approver refused.
func denied(m tasks.Merge, files []string, said string) setback {
	if len(files) == 0 {
		return setback{
			person: true, reason: "approval was refused: " + said, title: "Fix " + name(m) + ", which was not approved",
			todo: fmt.Sprintf("Your work (%s) was not approved for %s: %s\nFix it in your working copy, and set this task to "+
				"completed; it is reviewed again.", subject(m), m.Into, cmp.Or(said, "no reason was given")),
		}
	}
	why := "these files are not to be changed"
	if said != "" {
		why += ": " + said
	}
	return setback{
		person: true, reason: why, files: files, title: "Undo changes to protected files in " + name(m),
		todo: fmt.Sprintf("Your work (%s) changes protected files:\n%s\nThis was refused: %s\n%s Then set this task to "+
			"completed; it is merged again.", subject(m), writes.List(files), why, writes.UndoText(m.Into, files)),
	}
}

// returnToAuthor returns work to its author as a task. After maxRounds it holds the
// work for a person instead.
func (q *Queue) returnToAuthor(ctx context.Context, m tasks.Merge, s setback) (tasks.Merge, error) {
	if q.Share != nil {
		if err := q.Share(ctx, m.Member); err != nil && ctx.Err() != nil {
			return m, err // otherwise the author's next turn begins with it
		}
	}
	m.Files, m.Refused = s.files, s.person
	if t, err := q.Store.Task(ctx, m.Fix); m.Fix != "" && err == nil && t.Status != tasks.Completed {
		// It was merged again before its author had mended it, who goes on with the same task.
		return q.set(ctx, m, tasks.MergeReturned, s.reason)
	}
	if m.Round++; m.Round > maxRounds {
		return q.set(ctx, m, tasks.MergeHeld, fmt.Sprintf("%s, also after %d attempts to fix it", s.reason, maxRounds))
	}
	fix := fixFor(q.Team(), m.Member, s.title, s.todo)
	fix.Metadata = map[string]json.RawMessage{KeyMerge: texts.Encode(m.ID)}
	m.State, m.Reason = tasks.MergeReturned, s.reason
	return q.move(ctx, m, &fix)
}

// inInbox ends the reason of work that is held for an answer.
const inInbox = "; covey inbox has the question"

// unanswered ends the reason of work whose question expired.
const unanswered = ", and nobody answered in time; covey merge asks again"

// Decide applies the answer to a question that Ask asked, to the work that it is about and to the
// work that waits for it. Other work stays as it is.
func (q *Queue) Decide(ctx context.Context, a Answer) error {
	all, err := q.Store.Merges().List(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		waits := m.State == tasks.MergeHeld && m.Asked == a.ID
		about := m.ID == a.Merge && m.Commit == a.Commit || waits && a.Merge == ""
		switch {
		case about && a.No && m.State == tasks.MergeDone:
			err = q.revert(ctx, m, a)
		case about && a.No && !m.State.Over() && m.State != tasks.MergeReturned:
			m.Asked = ""
			_, err = q.returnToAuthor(ctx, m, denied(m, m.Files, a.Text))
		case !waits:
			continue
		case a.Yes:
			m.Asked = ""
			_, err = q.set(ctx, m, tasks.MergeQueued, "")
		case a.Late:
			m.Asked = ""
			_, err = q.set(ctx, m, tasks.MergeHeld, strings.TrimSuffix(m.Reason, inInbox)+unanswered)
		default: // no to another piece, which it contains
			m.Asked = ""
			_, err = q.set(ctx, m, tasks.MergeHeld, strings.TrimSuffix(m.Reason, inInbox)+", which was refused")
		}
		if unlessConflict(err) != nil {
			return err
		}
	}
	return nil
}

// keyRefused is the metadata key of a task that undoes merged work: the id of the question.
const keyRefused = "covey.refused"

// revert makes a task for the author of merged work to undo it, once for each answer.
func (q *Queue) revert(ctx context.Context, m tasks.Merge, a Answer) error {
	mark := json.RawMessage(`"` + a.ID + `"`)
	all, err := q.Store.List(ctx)
	if err != nil || slices.ContainsFunc(all, func(t tasks.Task) bool { return string(t.Metadata[keyRefused]) == string(mark) }) {
		return err
	}
	fix := fixFor(q.Team(), m.Member, "Undo "+name(m)+", which was not approved",
		fmt.Sprintf("Your work (%s) was merged into %s as %.10s, and was not approved then: %s\n"+
			"Undo it in your working copy (`git merge %[2]s`, then take back its changes), commit that, and set this task to completed.",
			subject(m), m.Into, cmp.Or(m.Result, m.Commit), cmp.Or(a.Text, "no reason was given")))
	fix.Metadata = map[string]json.RawMessage{keyRefused: mark}
	_, err = q.Store.Add(ctx, actors.Actor{}, []tasks.New{fix})
	return err
}

// Request queues selected work that waits or is held; with force, also work that is being tested, and
// without asking its gates. It returns the merges as they are then.
func (q *Queue) Request(ctx context.Context, by string, force bool, which func(tasks.Merge) bool) ([]tasks.Merge, error) {
	all, err := q.Store.Merges().List(ctx)
	if err != nil {
		return nil, err
	}
	var asked []tasks.Merge
	for _, m := range all {
		if m.State.Over() || !which(m) {
			continue
		}
		if !m.State.Busy() || force && !m.Forced && m.State != tasks.MergeLanding {
			m.By, m.Forced = by, force
			if m, err = q.set(ctx, m, tasks.MergeQueued, ""); err != nil {
				return asked, err
			}
		}
		asked = append(asked, m)
	}
	return asked, nil
}

// name returns what titles call a piece of work.
func name(m tasks.Merge) string {
	if len(m.Tasks) == 0 {
		return "your branch"
	}
	return tasks.Named(m.Tasks...)
}

// subject returns the one-line description of a merge.
func subject(m tasks.Merge) string {
	if len(m.Tasks) == 0 {
		return m.Title
	}
	return name(m) + ": " + m.Title
}

// message returns the message of the merge commit.
func message(m tasks.Merge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merge %s\n\nCovey-Member: %s\nCovey-Branch: %s\n", subject(m), m.Member, m.Branch)
	for _, id := range m.Tasks {
		fmt.Fprintf(&b, "Covey-Task: %s\n", id)
	}
	return b.String()
}
