package inbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestPermissionOverAKill: a call that waited for a person when covey was killed has not
// begun. The next run asks the same question, and what is said then decides.
func TestPermissionOverAKill(t *testing.T) {
	t.Parallel()
	rig := teamtest.NewRig(t, asksFirst("on_ask: wait\n"))
	if rig.RunAndKill(1, func() { awaitQuestion(rig) }) {
		t.Fatal("the team ended by itself")
	}
	u := teamtest.Start(rig, &teamtest.HandClock{})
	awaitQuestion(rig)
	c := u.Client()
	list, err := c.Inbox(t.Context(), api.InboxQuery{})
	if err != nil || len(list) != 1 || list[0].Kind != requests.AskPermission {
		t.Fatalf("the inbox has %+v (%v)", list, err)
	}
	if _, err := c.AnswerInbox(t.Context(), api.InboxAnswer{ID: list[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if got := u.Made(); got != "ran\n" {
		t.Errorf("the command wrote %q", got)
	}
	for _, r := range teamtest.Of[events.ToolReturned](rig, "tool_result") {
		if strings.Contains(r.Content, "all, some or none") {
			t.Errorf("dev read %q", r.Content)
		}
	}
}

// awaitQuestion waits until a running team has put a question before people.
func awaitQuestion(r *teamtest.Rig) {
	r.T.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		c, err := api.Dial(r.T.Context(), r.Place())
		if err != nil {
			continue // it is not up yet
		}
		list, err := c.Inbox(r.T.Context(), api.InboxQuery{})
		if err = errors.Join(err, c.Close()); err == nil && len(list) > 0 {
			return
		}
	}
	r.T.Fatal("no question came")
}
