package teammate

import (
	"context"

	"github.com/coveyteam/covey/hooks"
)

// Fire runs the hooks of one event in the member's name, for what happens to
// it outside of its own loop: a task that it creates or completes with a tool,
// a task that a person changes for it. The journal hears of all of it. Feedback
// is in the outcome; showing it to the agent is the caller's business.
//
// It may be called at any time from any goroutine. Its error is ctx's, or
// trouble in the machinery.
func (t *Teammate) Fire(ctx context.Context, in hooks.Payload) (hooks.Outcome, error) {
	at := t.outside()
	out, err := at.fire(ctx, in)
	if err != nil {
		return out, err
	}
	at.heard(out)
	return out, nil
}
