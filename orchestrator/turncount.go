package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/teammate"
)

// TurnCount says what a team's turns have come to in one run.
type TurnCount struct {
	Turns int `json:"turns"`
	// Empty are turns without a tool call, a message that anybody needed, or a change of
	// a task: they have cost a request for nothing.
	Empty     int `json:"empty"`
	Completed int `json:"completed"` // tasks
	// PerTask is Turns for each completed task; 0 where there is none.
	PerTask float64 `json:"per_task"`
}

// Of is the count with its ratio.
func (n TurnCount) Of(turns, empty, completed int) TurnCount {
	n = TurnCount{Turns: n.Turns + turns, Empty: n.Empty + empty, Completed: n.Completed + completed}
	if n.Completed > 0 {
		n.PerTask = float64(n.Turns) / float64(n.Completed)
	}
	return n
}

// turnCount is that of this run so far. crew.mu is held.
func (c *crew) turnCount() TurnCount {
	var n TurnCount
	for _, s := range c.seats() {
		n = n.Of(s.watch.turns, s.watch.emptyTurns, len(s.watch.completed))
	}
	return n
}

// weighed tells in the end of a turn whether it was empty; other events stay as they are.
//
// Words are needed where a person has written, where another member has asked and is told
// of them by a note, and where they are the lead's last: those `covey up` prints.
func (c *crew) weighed(ctx context.Context, s *seat, data teammate.EventData) teammate.EventData {
	end, ok := data.(teammate.TurnEnded)
	if !ok {
		return data
	}
	c.mu.Lock()
	end.Empty = !s.watch.useful && !s.stint.asked
	c.mu.Unlock()
	if end.Empty && s.lead {
		all, err := c.store.List(ctx)
		end.Empty = err == nil && len(openTasks(all)) > 0
	}
	return end
}
