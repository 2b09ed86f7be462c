package orchestrator

import (
	"encoding/json"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// stored takes in what the store has committed, once its line stands in the
// journal: it wakes the receiver of mail over the bus, and the crew looks at
// the team again.
func (m monitor) stored(e tasks.Event) {
	switch e.Type {
	case tasks.TaskEvent:
		m.noteTask(e.Data)
		m.c.asks.Recheck() // somebody may wait for approval of it
	case tasks.RequestEvent:
		m.c.asks.Recheck()
	case tasks.MessageEvent:
		if to := m.noteMessage(e.Data); to != "" {
			if err := m.c.bus.Wake(to); err != nil {
				m.c.log.Debug("nobody was woken for a message", "to", to, "err", err)
			}
		}
	}
	m.c.loop.Poke()
}

// noteTask remembers who completed what.
func (m monitor) noteTask(data json.RawMessage) {
	var change tasks.Change
	if json.Unmarshal(data, &change) != nil || change.Op != tasks.TaskCompleted {
		return
	}
	if s, ok := m.c.seating.of(change.Task.Owner); ok {
		m.c.accounts.tally.Completed(change.Task.Owner, change.Task.ID)
		m.c.watch.Completed(s.member.Name, change.Task.ID)
	}
}

// noteMessage remembers who has written to the lead, and tells whose mail it is.
func (m monitor) noteMessage(data json.RawMessage) (to string) {
	var letter mail.Message
	if json.Unmarshal(data, &letter) != nil || len(m.c.seating.all()) == 0 {
		return ""
	}
	// Any message will do: whether it says enough is for the lead to judge.
	if s, ok := m.c.seating.of(letter.From); ok && letter.To == m.c.seating.lead().member.Name {
		m.c.watch.Reported(s.member.Name)
	}
	return letter.To
}

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
