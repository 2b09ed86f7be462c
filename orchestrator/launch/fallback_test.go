package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// withSpare gives a fake rig's agent another to fall back to, which plays a
// script, and two tasks to its member.
func withSpare(t *testing.T, acts ...act) (*teamtest.Rig, string) {
	t.Helper()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev+
		"budget: {on_limit: fallback}\n", acts...)
	r.Rewrite("team.yaml", "{use: acp,", "{use: acp, fallback: spare,")
	r.Rewrite("team.yaml", "agents:\n", "agents:\n  spare: {use: builtin, model: spare}\n")
	r.Rewrite("team.yaml", "models:\n", "models:\n  spare: {provider: script, script: spare.yaml}\n")
	spare := `steps:
  - {when: 'Your last turn was cut short', call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: The spare is done., times: -1}
`
	if err := os.WriteFile(filepath.Join(r.Dir, "spare.yaml"), []byte(spare), 0o600); err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// A member whose agent has reached its limit goes on at once with another, in the
// same conversation; when the limit is over it goes back, and its own agent is
// told in words what it is in the middle of.
func TestFallback(t *testing.T) {
	t.Parallel()
	r, dir := withSpare(t,
		act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}},
		act{When: "You own task #2", Do: []string{`mcp team_task_update {"taskId":"2","status":"completed"}`}})
	r.Rewrite("team.yaml", "tasks:", "keep: true\ntasks:")
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Lines.Wait(t, "the spare's last word", func(l events.Line) bool {
		return l.Type == "idle" && strings.Contains(string(l.Data), "The spare is done.")
	})
	u.Clock.Forward(4 * time.Hour)
	if _, err := u.Client().CreateTask(t.Context(), api.TaskCreate{Subject: "Two", Owner: "dev"}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the end of task 2", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed","task":{"id":"2"`)
	})
	u.Stop(errors.New("enough"))
	r.Want(u.End(), orchestrator.CodeInterrupted, "")
	changes := teamtest.Of[events.AgentChanged](r, "agent_changed")
	if len(changes) != 2 || changes[0].From != "fake" || changes[0].To != "spare" || changes[0].Until.IsZero() ||
		changes[1].To != "fake" || !changes[1].Until.IsZero() {
		t.Errorf("changes %+v", changes)
	}
	if text := r.TranscriptOf("dev"); strings.Count(text, `"voice":"spare"`) != 2 {
		t.Errorf("the transcript does not tell who spoke:\n%s", text)
	}
	prompts := toldFake(t, dir, "prompt")
	if len(prompts) != 2 || !strings.Contains(prompts[1], "You have worked in this team before") ||
		!strings.Contains(prompts[1], "The spare is done.") {
		t.Errorf("its own agent was asked\n%s", strings.Join(prompts, "\n"))
	}
	if n := toldLead(r, "goes on with another agent"); n != 1 {
		t.Errorf("the lead was told %d times", n)
	}
}

// A covey that is killed while a member has another agent goes on with that one.
func TestFallbackSurvivesKills(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"limited", "agent_changed"} {
		t.Run(typ, func(t *testing.T) {
			r, dir := withSpare(t, act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}})
			r.Rewrite("spare.yaml", "steps:\n", "steps:\n  - {when: 'cut off|own open tasks', call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}\n"+
				"  - {when: 'task #2', call: [{tool: TaskUpdate, input: {taskId: \"2\", status: completed}}]}\n")
			if !r.KillAt(typ) {
				t.Fatal("the team ended before")
			}
			r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			if n := len(toldFake(t, dir, "prompt")); n != 1 {
				t.Errorf("the used-up agent was asked %d times", n)
			}
		})
	}
}

// A limit that the team would have to wait for ends it, if the spec wants that.
func TestStopAtLimit(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, teamtest.OwnedByDev+"budget: {on_limit: stop}\nkeep: true\n",
		act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeLimit, "dev: usage limit of fake reached; it goes on at")
	before := len(toldFake(t, dir, "prompt"))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeLimit, "budget.on_limit is stop")
	if n := len(toldFake(t, dir, "prompt")); n != before {
		t.Errorf("the next run asked the program %d times more", n-before)
	}
	if list := r.List(); list[0].Owner != "dev" || list[0].Status != tasks.InProgress {
		t.Errorf("the task is %+v", list[0])
	}
}

// Members that share a login do not knock at it one after another: while one
// waits, the others wait with it, and when it tries, they wait for what comes of it.
func TestLimitIsSharedByLogin(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: api, blocked_by: [c]}, "+
		"{id: c, subject: Three, owner: lead}]\n",
		act{When: "You own task #1", Do: []string{teamtest.Claims, teamtest.InHours}},
		act{When: agent.GoOn, Do: []string{teamtest.Finishes}},
		act{When: "task #2", Do: []string{`mcp team_task_update {"taskId":"2","status":"completed"}`}})
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake}\n  api: {agent: fake}")
	u := teamtest.Start(r, &teamtest.HandClock{})
	u.Until("limited", 1)
	done := tasks.Completed
	if _, err := u.Client().UpdateTask(t.Context(), api.TaskUpdate{ID: "3", Status: &done, Force: true}); err != nil {
		t.Fatal(err)
	}
	u.Until("team_waits", 1)
	if m := u.Member("api"); m.State != api.Limited || m.LimitedUntil.IsZero() {
		t.Errorf("api is %+v", m)
	}
	if n := len(toldFake(t, dir, "prompt")); n != 1 {
		t.Errorf("the login was tried %d times", n)
	}
	u.Clock.Forward(4 * time.Hour)
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if limits := teamtest.Of[events.Limited](r, "limited"); len(limits) != 1 {
		t.Errorf("limits %+v", limits)
	}
}
