package crew

import (
	"context"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
)

// Stored processes an event of the store once the journal has its line. It puts tasks and
// mail on the bus and pokes the crew's loop, which for mail waits until it has come.
func (c *Crew) Stored(l events.Line) {
	c.deps.State.CatchUp()
	switch data := l.Event().Data.(type) {
	case events.TaskChanged:
		c.noteTask(data.Change)
		c.deps.Asks.Recheck() // an approval may wait for it
		if err := c.deps.Bus.Task(l.Data); err != nil {
			c.deps.Log.Debug("a change of a task is not on the bus", "err", err)
		}
	case events.RequestChanged:
		c.deps.Asks.Recheck()
	case events.MessageSent:
		if len(c.deps.Seats.All()) > 0 {
			err := c.deps.Bus.Mail(data.To, l.Data)
			if err == nil {
				return
			}
			c.deps.Log.Debug("a message is not on the bus", "to", data.To, "err", err)
		}
	}
	c.deps.Loop.Poke()
}

// receive takes a message from the bus to its receiver's seat.
func (c *Crew) receive(member string, message []byte) {
	if s, ok := c.deps.Seats.Of(member); ok {
		s.received.Put(message)
	}
	c.deps.Loop.Poke()
}

// noteTask charges a completed task to its owner.
func (c *Crew) noteTask(change tasks.Change) {
	if change.Op != tasks.TaskCompleted {
		return
	}
	if s, ok := c.deps.Seats.Of(change.Task.Owner); ok {
		ctx := context.Background()
		c.logError(ctx, s, c.deps.Accounts.Shares.Completed(ctx, s.Member.Name, change.Task.ID))
	}
}
