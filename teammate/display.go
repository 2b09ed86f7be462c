package teammate

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// display fires MessageDisplay for a message of the member's model that has text, once
// a message and beside the turn. What the hooks want shown in its place (displayContent)
// concerns a host's screen, and the journal keeps what was said. Nobody is shown what a
// helper says.
func (u *turn) display(m agent.Message) {
	text := m.Text()
	if m.Role != agent.Assistant || text == "" || u.t.helper != nil {
		return
	}
	u.displayID = cmp.Or(u.displayID, uuid.NewString())
	u.at.aside(context.Background(), hooks.MessageDisplayInput{
		TurnID: u.displayID, MessageID: uuid.NewString(), Final: true, Delta: text,
	})
}
