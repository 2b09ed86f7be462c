package notices

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// tellFrom is the percentage of a limit from which on people are told of its use.
const tellFrom = 90

// openIn returns what is open in a store, in the order in which it came.
func openIn(ctx context.Context, store *tasks.Store) ([]Notice, error) {
	asked, err := store.Requests().Open(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list the open requests: %w", err)
	}
	var list []Notice
	ids := map[string]bool{}
	for _, r := range asked {
		if inbox.ForPerson(r) {
			list = append(list, noticeOf(r))
			ids[r.ID] = true
		}
	}
	merges, err := store.Merges().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the merges: %w", err)
	}
	for _, m := range merges {
		if m.State.Stands() && !ids[m.Asked] {
			list = append(list, standing(m))
		}
	}
	return list, nil
}

// standing returns the notice of a merge that waits for a person.
func standing(m tasks.Merge) Notice {
	n := Notice{Kind: configs.NotableMergeHeld, Member: m.Member, ID: "merge " + m.ID, Since: m.Updated}
	text := fmt.Sprintf("%s: the merge %s is held: %s", m.Member, m.Name(), m.Reason)
	if m.State == tasks.MergeWaiting {
		n.Kind = configs.NotableUnmerged
		text = fmt.Sprintf("%s: %s waits to be merged into %s", m.Member, m.Name(), m.Into)
	}
	n.Text = oneLine(text)
	if len(m.Tasks) > 0 {
		n.Task = m.Tasks[0]
	}
	return n
}

// noticeOf returns the notice of an open request.
func noticeOf(r requests.Request) Notice {
	kind := configs.NotableQuestion
	switch r.Kind {
	case requests.AskPlan, requests.AskApproval:
		kind = configs.NotableApproval
	case requests.AskAttention:
		kind = configs.NotableAttention
	case requests.AskMerge:
		kind = configs.NotableMergeHeld
	}
	return Notice{
		Kind: kind, Member: r.Member, Task: inbox.PayloadOf(r).TaskID, ID: r.ID,
		Text: oneLine(r.Text), Since: r.Created, Deadline: r.Deadline,
	}
}

// isNews reports whether a line of the journal may change what a rule has to say. It is
// called for each line of a run, so it does not decode the line.
func isNews(l journal.Line) bool {
	switch l.Type {
	case string(tasks.RequestEvent), string(tasks.MergeEvent), string(tasks.TaskEvent),
		"hook_feedback", "budget", "spec_changed":
		return true
	}
	return false
}

// happened returns the notice of a line of the journal that reports what has happened.
func happened(l journal.Line) (Notice, bool) {
	n := Notice{Member: l.Member, Seq: l.Seq, Since: l.Time}
	switch l.Type {
	case string(tasks.TaskEvent):
		var c tasks.Change
		if json.Unmarshal(l.Data, &c) != nil || c.Op != tasks.TaskCompleted {
			return n, false
		}
		n.Kind, n.Task, n.Member = configs.NotableDone, c.Task.ID, c.Task.Owner
		n.Text = fmt.Sprintf("%s has completed task %s: %s", c.Task.Owner, c.Task.ID, c.Task.Subject)
	case agent.HookFeedback{}.EventType():
		var f agent.HookFeedback
		if json.Unmarshal(l.Data, &f) != nil || !isGate(f.Event) {
			return n, false
		}
		n.Kind, n.Task = configs.NotableRefused, f.TaskID
		n.Text = fmt.Sprintf("%s was refused by %s: %s", l.Member, f.Event, notation.FirstLine(f.Text))
	case journal.BudgetUse{}.EventType():
		var u journal.BudgetUse
		if json.Unmarshal(l.Data, &u) != nil || u.Level < tellFrom || u.Limit <= 0 {
			return n, false
		}
		who := "the team"
		if n.Member = u.Member; n.Member != "" {
			who = n.Member
		}
		n.Kind, n.Text = configs.NotableBudget, fmt.Sprintf("%s has used %s", who, u)
	default:
		return n, false
	}
	n.Text = oneLine(n.Text)
	return n, true
}

// isGate reports whether hooks of an event decide whether work counts.
func isGate(event string) bool {
	switch hooks.Event(event) {
	case hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle:
		return true
	}
	return false
}
