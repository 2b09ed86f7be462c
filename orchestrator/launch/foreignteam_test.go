package launch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/mail"
)

// Hooks and rules hold for the team tools, whether the program asks before it
// calls one or not, and hooks run once for each call.
func TestGuardOfTeamTools(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, `
tasks: [{id: a, subject: One, owner: dev}]
hooks:
  PreToolUse:
    - matcher: mcp__covey__team_send_message
      hooks:
        - {type: command, command: "grep -o 'note-[a-z]*' >> seen; tail -1 seen | grep -q bad && { echo no bad notes >&2; exit 2; } || exit 0"}
    - matcher: mcp__covey__team_report
      hooks:
        - {type: command, command: "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\"updatedInput\":{\"report\":\"as the hook wants it\"}}}'"}
`, act{When: "You own task #1", Do: []string{
		`mcp team_send_message {"to":"lead","message":"note-one"}`,
		`askmcp team_send_message {"to":"lead","message":"note-two"}`,
		`mcp team_send_message {"to":"lead","message":"note-bad"}`,
		`askmcp team_send_message {"to":"lead","message":"note-bad"}`,
		`mcp team_report {"report":"as the program has it"}`,
		`mcp team_task_create {"subject":"More","description":"d"}`,
		`mcp team_task_list {}`,
		`mcp team_task_update {"taskId":"1","status":"completed"}`,
	}})
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, permissions: {deny: [TaskCreate]}}")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if seen := r.Read("seen"); seen != "note-one\nnote-two\nnote-bad\nnote-bad\n" {
		t.Errorf("the hook saw %q", seen)
	}
	var sent []string
	for _, m := range teamtest.Of[mail.Message](r, "message") {
		if m.From == "dev" {
			sent = append(sent, m.Text)
		}
	}
	if want := []string{"note-one", "note-two", "as the hook wants it"}; !slices.Equal(sent, want) {
		t.Errorf("sent was %q, want %q", sent, want)
	}
	results := toldFake(t, dir, "result")
	for i, want := range map[int]string{2: "no bad notes", 3: "denied", 5: "rule TaskCreate",
		6: "#1 [pending]", 7: "Updated task #1"} {
		if len(results) <= i || !strings.Contains(results[i], want) {
			t.Errorf("result %d lacks %q: %q", i, want, results)
		}
	}
}

// Mail reaches a program that can be spoken to in the middle of its turn.
func TestMailReachesAProgramAtWork(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n")
	setPlay(t, dir, play{
		Init: `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"_meta":{"steering":{"supported":true}}}}`,
		Scenes: []act{{When: "You own task #1", Do: []string{
			`mcp team_task_claim {"taskId":"1"}`, `mcp team_send_message {"to":"ops","message":"say something"}`, "steered",
			`mcp team_task_update {"taskId":"1","status":"completed"}`,
		}}},
	})
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake}\n  ops: {model: ops}")
	r.Rewrite("team.yaml", "models:", "models:\n  ops: {provider: script, script: ops.yaml}")
	ops := `steps: [{when: say something, call: [{tool: SendMessage, input: {to: dev, message: heard in mid-turn}}]}, {say: Sent., times: 9}]`
	if err := os.WriteFile(filepath.Join(r.Dir, "ops.yaml"), []byte(ops), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if steered := toldFake(t, dir, "steered"); len(steered) != 1 || !strings.Contains(steered[0],
		"heard in mid-turn") {
		t.Errorf("the program was told %q in the middle of its turn", steered)
	}
}

// The lead may be an agent program as well.
func TestLeadIsAnAgentProgram(t *testing.T) {
	t.Parallel()
	r, dir := fakeRigOf(t, `covey: 1
name: crew
goal: Ship it.
models: {dev: {provider: script, script: dev.yaml}}
agents:
  fake: {use: acp, command: [%PROGRAM%], env: {`+fakeVariable+`: %DIR%}}
lead: {agent: fake}
teammates:
  dev: {model: dev}
`, map[string]string{
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: Done., times: 9}
`,
	}, act{When: "Ship it.", Do: []string{
		`mcp team_task_create {"subject":"One","description":"d"}`, `mcp team_task_update {"taskId":"1","owner":"dev"}`, "say dev does it.",
	}}, act{When: "All tasks are completed", Do: []string{"say dev did it."}})
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeDone, "all work is done")
	if e.Answer != "dev did it." {
		t.Errorf("the answer is %q", e.Answer)
	}
	if prompt := toldFake(t, dir, "prompt")[0]; !strings.Contains(prompt, "You are lead, the lead of the team crew") {
		t.Errorf("the lead was told: %s", prompt)
	}
}

// A member that gets another agent has a past that no session of it holds.
func TestMemberGetsAnotherAgent(t *testing.T) {
	t.Parallel()
	done := func(id string) act {
		return act{When: "You own task #" + id, Do: []string{
			`mcp team_task_update {"taskId":"` + id + `","status":"completed"}`, "say I did " + id + ".",
		}}
	}
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n", done("1"), done("2"))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	other := filepath.Join(t.TempDir(), "another-agent")
	if err := os.Symlink(fakeBinary(t), other); err != nil {
		t.Skip("no symbolic links:", err)
	}
	r.Rewrite("team.yaml", fmt.Sprintf("%q", fakeBinary(t)), fmt.Sprintf("%q", other))
	r.Rewrite("team.yaml", "owner: dev}]", "owner: dev}, {id: b, subject: Two, owner: dev}]")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if loaded := toldFake(t, dir, "load"); len(loaded) != 0 {
		t.Errorf("another program was asked for sessions that it never had: %q", loaded)
	}
	prompts := toldFake(t, dir, "prompt")
	if last := prompts[len(prompts)-1]; !strings.Contains(last, "and have no memory of it") ||
		!strings.Contains(last, "I did 1.") {
		t.Errorf("the other agent was told: %s", last)
	}
}

// A preset finds its program in PATH, and thinks with a script in a home of its
// own when it is told to.
func TestPresetOfAMember(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(fakeBinary(t), filepath.Join(bin, "codex-acp")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("CODEX_HOME", "/the/users/own")
	for _, model := range []string{"", ", model: lead"} {
		r, dir := fakeRigOf(t, `covey: 1
name: crew
goal: Ship it.
models: {lead: {provider: script, script: lead.yaml}}
agents:
  mine: {use: codex, env: {`+fakeVariable+`: %DIR%}`+model+`}
lead: {model: lead}
teammates:
  dev: {agent: mine}
tasks: [{id: a, subject: One, owner: dev}]
`, nil, act{When: "You own task #1", Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`}})
		r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
		started := teamtest.Of[events.MemberStarted](r, "member_started")
		if !slices.ContainsFunc(started, func(m events.MemberStarted) bool { return m.Agent == "acp/codex" }) {
			t.Errorf("the members' agents are %+v", started)
		}
		env, err := os.ReadFile(filepath.Join(dir, "env"))
		if err != nil {
			t.Fatal(err)
		}
		home := "CODEX_HOME=/the/users/own"
		if model != "" {
			home = "CODEX_HOME=" + filepath.Join(r.Orchestrator(orchestrator.Options{}).Place().Scratch(), "dev.home")
		}
		if !strings.Contains(string(env), home) || !strings.Contains(string(env), "NO_BROWSER=1") {
			t.Errorf("with%s the program does not see %s:\n%s", model, home, env)
		}
	}
}

// What a member may cost is counted over its whole life.
func TestBudgetOfAnAgentProgram(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{"cost 0.75",
			`mcp team_task_update {"taskId":"1","status":"completed"}`}},
		act{When: "gate says no", Do: []string{"cost 1.25", "say I was too dear."}},
	)
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, limits: {max_budget_usd: 1}}")
	r.Rewrite("team.yaml", "tasks:", "hooks: {TeammateIdle: [{hooks: [{type: command, command: \"echo gate says no >&2; exit 2\"}]}]}\ntasks:")
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeLimit, "")
	if got := e.Members[1]; got.CostUSD != 1.25 || !strings.Contains(got.Reason,
		"limits.max_budget_usd is used up: 1.25 of 1.00 US dollars") {
		t.Errorf("dev's ending is %+v", got)
	}
	if prompts := toldFake(t, dir, "prompt"); len(prompts) != 2 || !strings.Contains(prompts[1],
		"This is your last prompt.") {
		t.Errorf("it got %d prompts: %q", len(prompts), prompts)
	}
	before := len(toldFake(t, dir, "prompt"))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeLimit, "")
	if n := len(toldFake(t, dir, "prompt")); n != before {
		t.Errorf("in the next run it got %d prompts more", n-before)
	}
}
