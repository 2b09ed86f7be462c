package orchestrator

import (
	"encoding/json"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// reports are the tasks that members have completed since they last wrote to the lead,
// from the journal of earlier runs, so that a restart does not clear an owed report.
type reports struct {
	lead string
	open map[string][]string // by member
}

// recall processes a line of an earlier run. Events in the store's outbox have no line
// yet; they reach noteTask and noteMessage.
//
// Lines that cannot be parsed are passed over: at worst a member is asked for a report that
// it has given.
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
