package crew

import (
	"context"

	"github.com/coveyteam/covey/events"
)

// Stored processes an event of the store once the journal has its line. It puts tasks and
// mail on the bus and pokes the crew's loop, which for mail waits until it has come.
func (c *Crew) Stored(l events.Line) {
	c.deps.State.CatchUp()
	ctx, e := context.Background(), l.Event()
	if err := tell(c, func(p Follower) error { return p.Stored(ctx, e) }); err != nil {
		c.deps.Log.Error("a change of the store could not be processed", "type", l.Type, "err", err)
	}
	switch data := e.Data.(type) {
	case events.TaskChanged:
		if err := c.deps.Bus.Task(l.Data); err != nil {
			c.deps.Log.Debug("a change of a task is not on the bus", "err", err)
		}
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
