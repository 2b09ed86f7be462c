package launch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestProgramAsksInTheInbox: what an agent program asks for waits for a person as
// what the builtin agent asks for does.
func TestProgramAsksInTheInbox(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, teamtest.LeadLetsWork, "on_ask: wait\n"+teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, "run echo ran >made", teamtest.Finishes, "say done"}})
	u := teamtest.Start(r, &teamtest.HandClock{})
	q := u.Asked(requests.AskPermission)
	if q.Member != "dev" || !strings.Contains(q.Text, "echo ran >made") {
		t.Errorf("asked %+v", q)
	}
	testkit.Eventually(t, "dev waits", func() bool { return u.Member("dev").State == api.Waiting }) // it is shown a moment after the request
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: q.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}

// TestProgramLeaves: an agent program that hangs is ended with its member, and the
// team goes on.
func TestProgramLeaves(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "keep: true\n"+teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, "hang"}})
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Lines.Wait(t, "dev at work", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"claimed"`)
	})
	mark := fakeVariable + "=" + dir
	if len(proc.Marked(mark)) == 0 {
		t.Fatal("the program cannot be found")
	}
	reply, err := u.Client().EndMember(t.Context(), api.EndMember{Member: "dev", Reason: "enough", Now: true})
	if err != nil || !reply.Gone || !strings.Contains(reply.Reason, "enough") {
		t.Fatalf("%+v (%v)", reply, err)
	}
	s := u.Running()
	if len(s) != 1 || s[0].Status != tasks.Pending || s[0].Owner != "" {
		t.Errorf("tasks %+v", s)
	}
	testkit.Eventually(t, "the program to end", func() bool { return len(proc.Marked(mark)) == 0 })
	if _, err := u.Client().Down(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	select {
	case <-u.Ending:
	case <-time.After(testkit.Patience):
		t.Fatal("the team did not end")
	}
}
