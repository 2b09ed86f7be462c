package orchestrator

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
)

// reports are the tasks that members have completed since they last wrote to the lead,
// from the journal of earlier runs, so that a restart does not clear an owed report.
type reports struct {
	lead string
	open map[string][]string // by member
}

// recall processes an event of an earlier run. Events in the store's outbox have no line
// yet; they reach noteTask and noteMessage.
func (r reports) recall(e events.Event) {
	switch data := e.Data.(type) {
	case events.TaskChanged:
		if data.Op == tasks.TaskCompleted {
			r.open[data.Task.Owner] = append(r.open[data.Task.Owner], data.Task.ID)
		}
	case events.MessageSent:
		if data.To == r.lead {
			delete(r.open, data.From)
		}
	}
}
