package teammate

import (
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestNotificationContext: what a Notification hook adds goes with the member's next request.
func TestNotificationContext(t *testing.T) {
	r := newRig(t, say{text: "one"})
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Notification: {{Decision: hooks.Pass,
		AdditionalContext: []string{"ctx"}}}})
	m := r.member(t)
	if _, err := m.Fire(t.Context(), hooks.NotificationInput{Message: "look", NotificationType: "idle_prompt"}); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "model", r.agent.seen, []string{"user: ctx", "user: hello", "assistant: one"})
}
