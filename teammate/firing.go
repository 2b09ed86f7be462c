package teammate

import (
	"context"

	"github.com/coveyteam/covey/hooks"
)

// Fire runs the hooks of one event in the member's name, for events outside of its
// own loop: a task that it creates or completes with a tool, or a task that a person
// changes for it. The journal records them. Feedback is in the outcome; the caller
// shows it to the agent.
//
// Fire may be called at any time from any goroutine. Its error is ctx's, or a fault
// of covey.
func (t *Teammate) Fire(ctx context.Context, in hooks.Payload) (hooks.Outcome, error) {
	at := t.outside()
	out, err := at.fire(ctx, in)
	if err != nil {
		return out, err
	}
	at.reportFeedback(out)
	if in.Event() == hooks.Notification {
		at.keepContext(out)
	}
	return out, nil
}
