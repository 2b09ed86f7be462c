package teammate

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// display fires MessageDisplay in the background for each message of the member's
// model that has text. What hooks want shown instead (displayContent) is for the screen
// of a host; the journal keeps the original. A helper's messages are not displayed.
func (u *turn) display(m agent.Message) {
	text := m.Text()
	if m.Role != agent.Assistant || text == "" || u.t.helper != nil {
		return
	}
	u.displayID = cmp.Or(u.displayID, uuid.NewString())
	u.at.fireInBackground(context.Background(), hooks.MessageDisplayInput{
		TurnID: u.displayID, MessageID: uuid.NewString(), Final: true, Delta: text,
	})
}
