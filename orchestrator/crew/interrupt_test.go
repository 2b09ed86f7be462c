package crew_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// heldTeam is a team whose dev is slow in its first turn and completes its task in a later
// one.
func heldTeam(more string) map[string]string {
	return map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: Make it, owner: dev}]\n" +
			"hooks: {Notification: [{hooks: [{type: command, command: 'true'}]}]}\n" + more,
		"lead.yaml": "steps: [{say: well, times: -1}]\n",
		"dev.yaml": `steps:
  - {when: go on|Go on, call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {when: Make it, say: never said, delay: 600s}
  - {say: done, times: -1}
`,
	}
}

// interrupted brings a heldTeam to where its dev has been interrupted.
func interrupted(t *testing.T, r *teamtest.Rig) *teamtest.Underway {
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Lines.Wait(t, "dev's turn", func(l events.Line) bool { return l.Type == "pass_started" && l.Member == "dev" })
	reply, err := u.Client().Interrupt(t.Context(), api.InterruptRequest{Member: "dev"})
	if err != nil || !reply.Interrupted || !reply.Held {
		t.Fatalf("interrupt: %+v, %v", reply, err)
	}
	return u
}

// rests waits until the team is at rest and has said so to its operator.
func rests(u *teamtest.Underway) {
	u.T.Helper()
	u.Lines.Wait(u.T, "the team to rest", func(l events.Line) bool {
		return l.Type == "hook_started" && strings.Contains(string(l.Data), `"Notification"`)
	})
}

// TestInterruptHolds: an interrupted member begins no other turn, over restarts, and a
// team that waits for nobody else stays up; once resumed it goes on.
func TestInterruptHolds(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, heldTeam(""))
	u := interrupted(t, r)
	rests(u)
	u.Stop(errors.New("enough"))
	u.End()
	u = teamtest.Start(r, &teamtest.HandClock{})
	rests(u)
	u.Stop(errors.New("enough"))
	u.End()
	for _, l := range r.Lines.All() {
		if l.Type == "turn_started" {
			t.Errorf("in the next run %s began a turn", l.Member)
		}
	}
	changed, err := members.HoldStopped(t.Context(), r.Place(), "dev", true)
	if err != nil || !changed {
		t.Fatalf("resumed: %v, %v", changed, err)
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
}

// TestHeldTeamStaysUp: it waits, shows who is held, and goes on with what the operator sends.
func TestHeldTeamStaysUp(t *testing.T) {
	t.Parallel()
	u := interrupted(t, teamtest.NewRig(t, heldTeam("")))
	rests(u)
	testkit.Eventually(t, "dev to be held", func() bool { return u.Member("dev").State == api.Held })
	if m := u.Member("dev"); !m.Held || m.WaitsFor != "covey resume dev" {
		t.Errorf("dev is %+v", m)
	}
	c := u.Client()
	if reply, err := c.Hold(t.Context(), api.HoldRequest{Member: "dev"}); err != nil || reply.Changed {
		t.Errorf("held again: %+v, %v", reply, err)
	}
	if _, err := c.Send(t.Context(), api.Send{To: "dev", Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "dev to be resumed", func(l events.Line) bool {
		return l.Type == "member_resumed" &&
			l.Member == "dev"
	})
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}

// TestInterruptThatGoesOn: with GoOn nothing is held.
func TestInterruptThatGoesOn(t *testing.T) {
	t.Parallel()
	files := heldTeam("")
	files["dev.yaml"] = strings.Replace(files["dev.yaml"], "{when: go on|Go on, call",
		"{when: you own open tasks, call", 1)
	u := teamtest.Start(teamtest.NewRig(t, files), &teamtest.HandClock{})
	u.Lines.Wait(t, "dev's turn", func(l events.Line) bool { return l.Type == "pass_started" && l.Member == "dev" })
	reply, err := u.Client().Interrupt(t.Context(), api.InterruptRequest{Member: "dev", GoOn: true})
	if err != nil || !reply.Interrupted || reply.Held {
		t.Fatalf("interrupt: %+v, %v", reply, err)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
}

// TestWhoMayHold: the operator and the lead, and the lead neither itself nor against the
// operator.
func TestWhoMayHold(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, heldTeam("keep: true\n"))
	c := r.Up()
	for _, tc := range []struct {
		name string
		req  api.HoldRequest
		want string // in the error; empty: none
		held bool
	}{
		{"a member", api.HoldRequest{Member: "lead", As: "dev"}, "only the operator and the lead", false},
		{"the lead itself", api.HoldRequest{Member: "lead", As: "lead"}, "cannot hold or resume itself", false},
		{"nobody", api.HoldRequest{Member: "ghost"}, "lead, dev", false},
		{"the lead", api.HoldRequest{Member: "dev", As: "lead"}, "", true},
		{"the lead resumes", api.HoldRequest{Member: "dev", As: "lead", Resume: true}, "", false},
		{"the operator", api.HoldRequest{Member: "dev"}, "", true},
		{"the lead against it", api.HoldRequest{Member: "dev", As: "lead", Resume: true},
			"only the operator can resume it", true},
		{"the operator resumes", api.HoldRequest{Member: "dev", Resume: true}, "", false},
	} {
		_, err := c.Hold(t.Context(), tc.req)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
		st, err := c.Status(t.Context())
		if err != nil || st.Members[1].Held != tc.held {
			t.Errorf("%s: held is %v (%v)", tc.name, st.Members[1].Held, err)
		}
	}
	if _, err := members.HoldStopped(t.Context(), r.Place(), "dev", false); !errors.Is(err, state.ErrRunning) {
		t.Errorf("behind its back: %v", err)
	}
}

// TestPromptStopped: a text to the lead of a team that does not run ends all holds, and the
// next run begins with it.
func TestPromptStopped(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, heldTeam(""))
	if err := members.PromptStopped(t.Context(), r.Place(), "lead", "Anew."); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("before the first run: %v", err)
	}
	u := interrupted(t, r)
	rests(u)
	u.Stop(errors.New("enough"))
	u.End()
	if _, err := members.HoldStopped(t.Context(), r.Place(), "lead", false); err != nil {
		t.Fatal(err)
	}
	if err := members.PromptStopped(t.Context(), r.Place(), "lead", "Anew."); err != nil {
		t.Fatal(err)
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	prompts := map[string]string{}
	for _, l := range r.Lines.All() {
		if l.Type == "turn_started" && prompts[l.Member] == "" {
			prompts[l.Member] = string(l.Data)
		}
	}
	if !strings.Contains(prompts["lead"], "Anew.") || strings.Contains(prompts["lead"], "Go on.") {
		t.Errorf("the lead goes on with %s", prompts["lead"])
	}
	if !strings.Contains(prompts["dev"], "Go on.") {
		t.Errorf("dev goes on with %s", prompts["dev"])
	}
}
