package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// turnCount is that of this run so far. crew.mu is held.
func (c *crew) turnCount() journal.TurnCount {
	var n journal.TurnCount
	for _, s := range c.seats() {
		n = n.Of(s.watch.turns, s.watch.emptyTurns, len(s.watch.completed))
	}
	return n
}

// weighed tells in the end of a turn whether it was empty; other events stay as they are.
//
// Words are needed where a person has written, where another member has asked and is told
// of them by a note, and where they are the lead's last: those `covey up` prints.
func (c *crew) weighed(ctx context.Context, s *seat, data agent.EventData) agent.EventData {
	end, ok := data.(agent.TurnEnded)
	if !ok {
		return data
	}
	c.mu.Lock()
	end.Empty = !s.watch.useful && !s.stint.asked
	c.mu.Unlock()
	if end.Empty && s.member.Lead {
		all, err := c.store.List(ctx)
		end.Empty = err == nil && len(tasks.OpenTasks(all)) > 0
	}
	return end
}
