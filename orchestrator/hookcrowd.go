package orchestrator

import (
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// hookCrowded tells people that what a hook had left behind became too many processes
// and was killed. The hook's own result was in the journal long before.
func (c *crew) hookCrowded(in hooks.Input, command, warning string) {
	e := agent.Event{Data: agent.Warning{Text: string(in.Payload.Event()) + " hook " + command + ": " + warning}}
	if s, ok := c.bySession(in.SessionID); ok {
		e.Member, e.Turn = s.member.Name, s.turn()
	}
	c.journal.Append(e)
}
