package orchestrator

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestPermissionOverAKill: a call that waited for a person when covey was killed has not
// begun. The next run asks the same question, and what is said then decides.
func TestPermissionOverAKill(t *testing.T) {
	t.Parallel()
	rig := newRig(t, asksFirst("on_ask: wait\n"))
	if rig.runAndKill(1, func() { rig.awaitQuestion() }) {
		t.Fatal("the team ended by itself")
	}
	u := start(rig, &handClock{})
	rig.awaitQuestion()
	c := u.client()
	list, err := c.Inbox(t.Context(), api.InboxQuery{})
	if err != nil || len(list) != 1 || list[0].Kind != requests.AskPermission {
		t.Fatalf("the inbox has %+v (%v)", list, err)
	}
	if _, err := c.AnswerInbox(t.Context(), api.InboxAnswer{ID: list[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.want(u.end(), CodeDone, "all work is done")
	if got := u.made(); got != "ran\n" {
		t.Errorf("the command wrote %q", got)
	}
	for _, r := range of[events.ToolReturned](rig, "tool_result") {
		if strings.Contains(r.Content, "all, some or none") {
			t.Errorf("dev read %q", r.Content)
		}
	}
}

// awaitQuestion waits until a running team has put a question before people.
func (r *rig) awaitQuestion() {
	r.t.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		c, err := api.Dial(r.t.Context(), r.place())
		if err != nil {
			continue // it is not up yet
		}
		list, err := c.Inbox(r.t.Context(), api.InboxQuery{})
		if err = errors.Join(err, c.Close()); err == nil && len(list) > 0 {
			return
		}
	}
	r.t.Fatal("no question came")
}
