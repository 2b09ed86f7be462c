package teammate

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// cutter cuts tool calls short. The zero value is ready to use. It is safe for concurrent use.
type cutter struct {
	mu     sync.Mutex
	waits  map[string]int  // ids of the messages that come next, and how many passes have not had them
	read   map[string]bool // ids of the messages that passes had
	next   int
	cancel map[int]context.CancelCauseFunc // of the calls that run
}

// now cuts the calls that run, and those that begin before the pass that has a message, unless a pass
// has had it.
func (c *cutter) now(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read[message] {
		return
	}
	if c.waits == nil {
		c.waits = map[string]int{}
	}
	c.waits[message] = 0
	for _, cancel := range c.cancel {
		cancel(agent.ErrCut)
	}
}

// passed notes what a pass had. A message that comes neither with this pass nor with the next one is
// awaited no more: a hook may have refused it.
func (c *cutter) passed(mail []agent.Input) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = map[string]bool{}
	}
	for _, id := range agent.MessageIDs(mail) {
		c.read[id] = true
		delete(c.waits, id)
	}
	for id := range c.waits {
		if c.waits[id]++; c.waits[id] > 1 {
			delete(c.waits, id)
		}
	}
}

// begin returns the context of a call, which end releases.
func (c *cutter) begin(ctx context.Context) (call context.Context, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, cancel := context.WithCancelCause(ctx)
	if len(c.waits) > 0 {
		cancel(agent.ErrCut)
	}
	if c.cancel == nil {
		c.cancel = map[int]context.CancelCauseFunc{}
	}
	id := c.next
	c.next++
	c.cancel[id] = cancel
	return call, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.cancel, id)
		cancel(nil)
	}
}

// wasCut reports whether a call was cut short, and the turn goes on.
func wasCut(turn, call context.Context) bool {
	return turn.Err() == nil && errors.Is(context.Cause(call), agent.ErrCut)
}

// cutResult returns the result of a call that was cut short: tools say in different words that they
// were interrupted.
func cutResult(r agent.ToolResult) agent.ToolResult {
	if r.IsError && !strings.HasPrefix(r.Content, agent.CutShort) {
		r.Content = agent.CutShort
	}
	return r
}
