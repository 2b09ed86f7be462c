package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

// A member that reaches its limit keeps its task, is left alone until the time
// that its agent named, and then goes on with what it was asked.
func TestUsageLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}},
		act{When: agent.GoOn, Do: []string{teamtest.Finishes, "say One is done."}})
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Until("team_waits", 1)
	if m := u.Member("dev"); m.State != api.Limited || m.Task != "1" ||
		m.LimitedUntil.Before(time.Now().Add(2*time.Hour)) {
		t.Errorf("dev is %+v", m)
	}
	u.Clock.Forward(2 * time.Hour)
	if m := u.Member("dev"); m.State != api.Limited {
		t.Errorf("an hour too early dev is %+v", m)
	}
	u.Clock.Forward(time.Hour)
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	prompts := toldFake(t, dir, "prompt")
	if len(prompts) != 2 || !strings.Contains(prompts[1], "You own task #1") {
		t.Errorf("the program was asked\n%s", strings.Join(prompts, "\n"))
	}
	ends := teamtest.Of[events.TurnEnded](r, "turn_ended")
	if !slices.ContainsFunc(ends, func(e events.TurnEnded) bool { return e.Reason == events.EndUsageLimit }) {
		t.Errorf("the turns ended so: %+v", ends)
	}
	limits := teamtest.Of[events.Limited](r, "limited")
	if len(limits) != 1 || limits[0].Agent != "fake" || !limits[0].Known {
		t.Errorf("limits %+v", limits)
	}
	if n := toldLead(r, "Teammate dev waits: usage limit of fake reached"); n != 1 {
		t.Errorf("the lead was told %d times", n)
	}
}

// toldLead counts the notices in the lead's mail that hold words.
func toldLead(r *teamtest.Rig, words string) (n int) {
	for _, m := range teamtest.Of[struct{ To, Text string }](r, "message") {
		if m.To == "lead" && strings.Contains(m.Text, words) {
			n++
		}
	}
	return n
}

// Where no time is known the waits grow, and the lead hears of it once.
func TestUnknownLimitIsTriedSeldom(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.NoTime}},
		act{When: agent.GoOn, Do: []string{teamtest.NoTime}},
		act{When: agent.GoOn, Do: []string{teamtest.Finishes}})
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Until("team_waits", 1)
	u.Clock.Forward(15 * time.Minute)
	u.Until("team_waits", 2)
	u.Clock.Forward(15 * time.Minute)
	if m := u.Member("dev"); m.State != api.Limited {
		t.Errorf("after another quarter of an hour dev is %+v", m)
	}
	u.Clock.Forward(15 * time.Minute)
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if n := len(toldFake(t, dir, "prompt")); n != 3 {
		t.Errorf("the program was asked %d times", n)
	}
	if n := toldLead(r, "Teammate dev waits: usage limit of fake reached; it tries again"); n != 1 {
		t.Errorf("the lead was told %d times", n)
	}
}

// A covey that is stopped, or dies, waits on when it is started again.
func TestUsageLimitOverARestart(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}},
		act{When: agent.GoOn, Do: []string{teamtest.Finishes}})
	clock := &teamtest.HandClock{}
	u := teamtest.Start(r, clock)
	u.Until("team_waits", 1)
	u.Stop(errors.New("enough"))
	e := u.End()
	r.Want(e, orchestrator.CodeInterrupted, "interrupted")
	if dev := e.Members[1]; dev.State != api.Limited || len(e.Problems) != 1 || !strings.Contains(e.Problems[0],
		"it goes on at") {
		t.Errorf("it ended with %+v, problems %q", dev, e.Problems)
	}
	u = teamtest.Start(r, clock)
	u.Until("team_waits", 1)
	if m := u.Member("dev"); m.State != api.Limited || len(toldFake(t, dir, "prompt")) != 1 {
		t.Errorf("after the restart dev is %+v, and was asked %q", m, toldFake(t, dir, "prompt"))
	}
	clock.Forward(3 * time.Hour)
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if prompts := toldFake(t, dir, "prompt"); len(prompts) != 2 || !strings.Contains(prompts[1], "You own task #1") {
		t.Errorf("the program was asked\n%s", strings.Join(prompts, "\n"))
	}
}

// A person can have a member try at once, by a message or an interrupt; mail of
// members waits.
func TestAPersonEndsTheWait(t *testing.T) {
	t.Parallel()
	for name, nudge := range map[string]func(*api.Client) error{
		"send": func(c *api.Client) error {
			reply, err := c.Send(context.Background(), api.Send{To: "dev", Text: "I paid."})
			if err == nil && reply.Delivery != api.Delivered {
				err = fmt.Errorf("the text was %s", reply.Delivery)
			}
			return err
		},
		"interrupt": func(c *api.Client) error {
			reply, err := c.Interrupt(context.Background(), api.InterruptRequest{Member: "dev"})
			if err == nil && (!reply.Retries || reply.Interrupted) {
				err = fmt.Errorf("the answer was %+v", reply)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
				act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}},
				act{When: agent.GoOn, Do: []string{teamtest.InHours}},
				act{When: agent.GoOn, Do: []string{teamtest.Finishes}})
			u := teamtest.Start(r, &teamtest.HandClock{})
			for n := range 2 {
				u.Until("team_waits", n+1)
				client, err := api.Dial(t.Context(), u.O.Place())
				if err != nil {
					t.Fatal(err)
				}
				if err := nudge(client); err != nil {
					t.Error(err)
				}
				client.Close()
			}
			r.Want(u.End(), orchestrator.CodeDone, "all work is done")
			if n := len(toldFake(t, dir, "prompt")); n != 3 {
				t.Errorf("the program was asked %d times", n)
			}
			if n := toldLead(r, "Teammate dev waits"); n != 1 {
				t.Errorf("the lead was told %d times", n)
			}
		})
	}
}

// Without a login only a person can help: the team ends and says how, and the
// next run tries again.
func TestLoggedOutMember(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, "error -32000 Authentication required"}},
		act{When: agent.GoOn, Do: []string{teamtest.Finishes}})
	e := teamtest.Start(r, &teamtest.HandClock{}).End()
	r.Want(e, orchestrator.CodeUnfinished, "dev needs attention: fake is not logged in")
	if dev := e.Members[1]; dev.State != api.LoggedOut || !strings.Contains(dev.Reason, "then `covey up`") {
		t.Errorf("it ended with %+v", dev)
	}
	if needs := teamtest.Of[events.NeedsAttention](r, "needs_attention"); len(needs) != 1 ||
		!strings.Contains(needs[0].Reason, "then `covey send dev \"go on\"`") {
		t.Errorf("people were told %+v", needs)
	}
	if n := len(toldFake(t, dir, "prompt")); n != 1 {
		t.Errorf("the program was asked %d times", n)
	}
	if list := r.List(); list[0].Owner != "dev" {
		t.Errorf("its task is %+v", list[0])
	}
	r.Want(teamtest.Start(r, &teamtest.HandClock{}).End(), orchestrator.CodeDone, "all work is done")
}

// The lead's last report waits for its limit like everything else.
func TestLimitOnTheLastReport(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, "steps: []", "",
		act{When: "Ship it", Do: []string{`mcp team_task_create {"subject":"One","description":"Do it."}`,
			teamtest.Claims, teamtest.Finishes, "say Did it."}},
		act{When: "All tasks are completed", Do: []string{teamtest.InHours}},
		act{When: agent.GoOn, Do: []string{"say All is well."}})
	r.Rewrite("team.yaml", "lead: {model: lead}\n", "lead: {agent: fake}\n")
	r.Rewrite("team.yaml", "teammates:\n  dev: {agent: fake}\n", "")
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Until("team_waits", 1)
	u.Clock.Forward(3 * time.Hour)
	e := u.End()
	r.Want(e, orchestrator.CodeDone, "all work is done")
	if e.Answer != "All is well." {
		t.Errorf("the last answer is %q", e.Answer)
	}
}

// Of the members that share a login no more are in a turn at once than it
// bears; the others wait and say so, and all get through.
func TestParallel(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, teamtest.LeadLetsWork, "  api: {agent: fake}\n  ops: {agent: fake}\n"+
		"tasks: [{id: a, subject: One}, {id: b, subject: Two, owner: api}, {id: c, subject: Three, owner: ops}, {id: d, subject: Four, owner: dev}]\n",
		act{When: "task #1", Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`}},
		act{When: "task #2", Do: []string{`mcp team_task_update {"taskId":"2","status":"completed"}`}},
		act{When: "task #3", Do: []string{`mcp team_task_update {"taskId":"3","status":"completed"}`}},
		act{When: "task #4", Do: []string{`mcp team_task_update {"taskId":"4","status":"completed"}`}})
	r.Rewrite("team.yaml", "{use: acp,", "{use: acp, parallel: 1,")
	r.Want(teamtest.Start(r, &teamtest.HandClock{}).End(), orchestrator.CodeDone, "all work is done")
	inside, waited := "", 0
	for _, l := range r.Lines.All() {
		switch {
		case l.Member == "lead":
		case l.Type == "waiting":
			waited++
			var w events.Waiting
			if json.Unmarshal(l.Data, &w) != nil || w.For != "a slot of fake" && w.For != "" { // which ends it
				t.Errorf("%s waits for %q", l.Member, w.For)
			}
		case l.Type == "turn_started" && inside != "":
			t.Errorf("%s begins a turn while %s is in one", l.Member, inside)
		case l.Type == "turn_started":
			inside = l.Member
		case l.Type == "turn_ended":
			inside = ""
		}
	}
	if waited == 0 {
		t.Error("nobody had to wait")
	}
}

// A stop does not wait for a slot.
func TestStopWhileWaitingForASlot(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, teamtest.LeadLetsWork, "  api: {agent: fake}\n"+
		"tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: api}]\n",
		act{When: "You own task", Do: []string{"hang"}})
	r.Rewrite("team.yaml", "{use: acp,", "{use: acp, parallel: 1,")
	u := teamtest.Start(r, &teamtest.HandClock{})
	line := u.Lines.Wait(t, "a wait", func(l events.Line) bool { return l.Type == "waiting" })
	if m := u.Member(line.Member); m.State != api.Waiting || m.WaitsFor != "a slot of fake" {
		t.Errorf("%s is %+v", line.Member, m)
	}
	u.Stop(errors.New("enough"))
	r.Want(u.End(), orchestrator.CodeInterrupted, "interrupted")
}

// Wherever covey is killed around the moment of a limit, the member's task is
// done in the end, and once the limit stands in the store nobody knocks early.
func TestKilledAroundALimit(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"limited", "turn_ended", "idle", "team_waits"} {
		t.Run(typ, func(t *testing.T) {
			r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
				act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}},
				act{When: "Go on", Do: []string{teamtest.Finishes}})
			if !r.KillAt(typ) {
				t.Fatal("the team ended before")
			}
			u := teamtest.Start(r, &teamtest.HandClock{})
			if typ == "team_waits" {
				u.Until("team_waits", 1)
				if prompts := toldFake(t, dir, "prompt"); len(prompts) != 1 {
					t.Errorf("too early the program was asked %q", prompts[1:])
				}
			}
			u.Clock.Forward(3 * time.Hour)
			r.Want(u.End(), orchestrator.CodeDone, "all work is done")
			if prompts := toldFake(t, dir, "prompt"); len(prompts) > 3 {
				t.Errorf("the program was asked %d times: %q", len(prompts), prompts)
			}
		})
	}
}
