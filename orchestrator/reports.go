package orchestrator

import (
	"encoding/json"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// reports are what the lines of earlier runs say about the tasks that members
// have completed since they last wrote to the lead: nobody gets out of a
// report by a restart.
type reports struct {
	lead string
	open map[string][]string // by member
}

// recall takes in a line of an earlier run. What is in the store's outbox still
// has no line; it comes by noteTask and noteMessage.
func (r reports) recall(l journal.Line) {
	switch tasks.EventType(l.Type) {
	case tasks.TaskEvent:
		var c tasks.Change
		if json.Unmarshal(l.Data, &c) == nil && c.Op == tasks.TaskCompleted {
			r.open[c.Task.Owner] = append(r.open[c.Task.Owner], c.Task.ID)
		}
	case tasks.MessageEvent:
		var m mail.Message
		if json.Unmarshal(l.Data, &m) == nil && m.To == r.lead {
			delete(r.open, m.From)
		}
	}
}
