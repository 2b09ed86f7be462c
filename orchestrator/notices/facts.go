package notices

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
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
// called for each line of a run.
func isNews(e events.Event) bool {
	switch e.Data.(type) {
	case events.RequestChanged, events.MergeChanged, events.TaskChanged,
		events.HookFeedback, events.BudgetUse, events.SpecChanged:
		return true
	}
	return false
}

// happened returns the notice of a line of the journal that reports what has happened.
func happened(e events.Event) (Notice, bool) {
	n := Notice{Member: e.Member, Seq: e.Seq, Since: e.Time}
	switch d := e.Data.(type) {
	case events.TaskChanged:
		if d.Op != tasks.TaskCompleted {
			return n, false
		}
		n.Kind, n.Task, n.Member = configs.NotableDone, d.Task.ID, d.Task.Owner
		n.Text = fmt.Sprintf("%s has completed task %s: %s", d.Task.Owner, d.Task.ID, d.Task.Subject)
	case events.HookFeedback:
		if !isGate(d.Event) {
			return n, false
		}
		n.Kind, n.Task = configs.NotableRefused, d.TaskID
		n.Text = fmt.Sprintf("%s was refused by %s: %s", e.Member, d.Event, texts.FirstLine(d.Text))
	case events.BudgetUse:
		if d.Level < tellFrom || d.Limit <= 0 {
			return n, false
		}
		who := "the team"
		if n.Member = d.Member; n.Member != "" {
			who = n.Member
		}
		n.Kind, n.Text = configs.NotableBudget, fmt.Sprintf("%s has used %s", who, d)
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
