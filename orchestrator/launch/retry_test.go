package launch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

const tooMany = "error -32603 API Error: 429 Too Many Requests"

// A turn that a vendor has refused is tried again after pauses that grow, with what it
// was about, until it succeeds: nobody is told that something is wrong.
func TestFailedTurnIsTriedAgain(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, tooMany}},
		act{When: agent.TryAgain, Do: []string{tooMany}},
		act{When: agent.TryAgain, Do: []string{teamtest.Finishes}})
	u := teamtest.Start(r, &teamtest.HandClock{Still: true})
	u.Until("turn_failed", 1)
	m := u.Member("dev")
	for m.State != api.Waiting { // the turn is just ending
		m = u.Member("dev")
	}
	if !strings.Contains(m.WaitsFor, ": try 1 of 8, after: ") || !strings.Contains(m.WaitsFor,
		"429 Too Many Requests") || m.Task != "1" {
		t.Errorf("dev is %+v", m)
	}
	u.GoThrough(1, 2)
	e := u.End()
	r.Want(e, orchestrator.CodeDone, "all work is done")
	prompts := toldFake(t, dir, "prompt")
	if len(prompts) != 3 || !strings.Contains(prompts[2], "You own task #1") ||
		strings.Count(prompts[2], "You own task #1") != 1 {
		t.Errorf("the program was asked\n%s", strings.Join(prompts, "\n"))
	}
	failed := teamtest.Of[events.TurnFailed](r, "turn_failed")
	if len(failed) != 2 || failed[1].Failed != 2 || failed[1].Left != teamtest.RetryLimit-1 || failed[1].Until.IsZero() ||
		!strings.Contains(failed[1].Text, "429 Too Many Requests") || failed[1].Error != "rate_limit" {
		t.Errorf("the journal has %+v", failed)
	}
	if n := toldLead(r, "Teammate dev"); n != 0 {
		t.Errorf("the lead was told %d times", n)
	}
}

// What fails time and again needs a person, who reads the vendor's words.
func TestFailedTurnIsGivenUp(t *testing.T) {
	t.Parallel()
	acts := []act{{When: "You own task #1", Do: []string{teamtest.Claims, tooMany}}}
	for range teamtest.RetryLimit {
		acts = append(acts, act{When: agent.TryAgain, Do: []string{tooMany}})
	}
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev, acts...)
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.GoThrough(1, teamtest.RetryLimit)
	r.Want(u.End(), orchestrator.CodeUnfinished, "its turns failed 9 times in a row, the last one so: API Error: 429 Too Many Requests")
	if n := len(toldFake(t, dir, "prompt")); n != teamtest.RetryLimit+1 {
		t.Errorf("the program was asked %d times", n)
	}
	if n := toldLead(r, "Teammate dev needs attention: its turns failed 9 times"); n != 1 {
		t.Errorf("the lead was told %d times", n)
	}
}

// What neither time nor another prompt mends is not tried again, and its member is not reminded of
// its work: a person reads at once what to mend.
func TestHopelessTurnIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev, act{Do: []string{"error -32603 unknown model: gpt-nope"}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "dev needs attention: its last turn failed: API error (model_not_found): unknown model: gpt-nope; "+
		`nobody can go on: task 1 "One" belongs to dev, who needs attention`)
	if failed := teamtest.Of[events.TurnFailed](r, "turn_failed"); len(failed) != 1 || failed[0].Passing ||
		!failed[0].Until.IsZero() {
		t.Errorf("the journal has %+v", failed)
	}
}

// All kinds of agents are tried again: the builtin one, too, which has its prompt yet,
// and a command that ends with an exit code. The lead is no exception.
func TestEveryAgentIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fails"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("dev: {agent: cmd}\nagents: {cmd: {use: command, command: [%q], env: {%s: %q}}}",
		testkit.Binary(t), commandFakeVariable, dir)
	for name, spec := range map[string]string{
		"builtin": testkit.PairSpec, "command": strings.Replace(testkit.PairSpec, "dev: {model: dev}", command, 1),
	} {
		t.Run(name, func(t *testing.T) {
			r := teamtest.NewRig(t, map[string]string{
				"team.yaml": spec + "tasks: [{id: a, subject: Do it, owner: dev}]\n",
				"lead.yaml": "steps: [{error: {type: server_error}}, {when: Your last turn ended early, say: Fine.}, {say: Fine., times: -1}]",
				"dev.yaml": "steps: [{error: {type: overloaded}}, {when: Your last turn ended early, " +
					"call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}, {say: done}]",
			})
			r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			for _, l := range r.Lines.All() {
				var p struct{ Prompt string }
				if l.Type == "turn_started" && name == "builtin" && json.Unmarshal(l.Data, &p) == nil &&
					strings.Contains(p.Prompt, agent.TryAgain) && strings.Contains(p.Prompt, "You own task") {
					t.Errorf("the builtin agent was told again what it has: %q", p.Prompt)
				}
			}
		})
	}
}

// A person's word or an interrupt ends the pause; so does the end of the team, which
// goes on with the pause when it is started again.
func TestPauseEnds(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev,
		act{When: "You own task #1", Do: []string{teamtest.Claims, tooMany}},
		act{When: "I paid.", Do: []string{tooMany}},
		act{When: agent.TryAgain, Do: []string{tooMany}},
		act{When: agent.TryAgain, Do: []string{teamtest.Finishes}})
	u := teamtest.Start(r, &teamtest.HandClock{Still: true})
	inPause(u, "dev", 1)
	client, err := api.Dial(t.Context(), u.O.Place())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if reply, err := client.Send(t.Context(), api.Send{To: "dev", Text: "I paid."}); err != nil ||
		reply.Delivery != api.Delivered {
		t.Errorf("the text was %s: %v", reply.Delivery, err)
	}
	inPause(u, "dev", 2)
	if reply, err := client.Interrupt(t.Context(), api.InterruptRequest{Member: "dev"}); err != nil ||
		!reply.Retries || reply.Interrupted {
		t.Errorf("the answer was %+v: %v", reply, err)
	}
	inPause(u, "dev", 3)
	u.Stop(errors.New("enough"))
	e := u.End()
	r.Want(e, orchestrator.CodeInterrupted, "interrupted")
	if dev := e.Members[1]; dev.State != api.Waiting || !strings.Contains(dev.Reason,
		"was to be tried again: API Error: 429") {
		t.Errorf("it ended with %+v", dev)
	}
	if n := len(toldFake(t, dir, "prompt")); n != 3 {
		t.Errorf("the program was asked %d times", n)
	}
	u = teamtest.Start(r, u.Clock)
	u.Until("member_started", 2)
	u.Clock.Forward(teamtest.LongRest)
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
}

// inPause waits until a member rests after its n-th failed turn.
func inPause(u *teamtest.Underway, name string, n int) {
	u.T.Helper()
	u.Until("turn_failed", n)
	for u.Member(name).State != api.Waiting { // its turn is just ending
		time.Sleep(time.Millisecond)
	}
}
