package launch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
)

// fakeSpec is a team with a builtin lead and a member whose agent is the fake.
// The two verbs are the fake's folder and program.
const fakeSpec = `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
agents:
  fake: {use: acp, command: [%q], env: {` + fakeVariable + `: %q}}
lead: {model: lead}
teammates:
  dev: {agent: fake}
`

// newFakeRig is a rig with a fake member, whose acts are these. More follows
// the spec.
func newFakeRig(t *testing.T, lead, more string, acts ...act) (*teamtest.Rig, string) {
	t.Helper()
	dir := t.TempDir()
	program := fakeBinary(t)
	r := teamtest.NewRig(t, map[string]string{"team.yaml": fmt.Sprintf(fakeSpec, program, dir) + more, "lead.yaml": lead})
	setPlay(t, dir, play{Scenes: acts})
	return r, dir
}

func setPlay(t *testing.T, dir string, p play) {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "play.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// told are the lines of the fake's log that begin with a word, without it.
func toldFake(t *testing.T, dir, word string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word+" "); ok {
			lines = append(lines, rest)
		}
	}
	return lines
}

func TestAgentProgramDoesATask(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{
			`mcp team_task_claim {"taskId":"1"}`,
			`edit proof here`,
			`mcp team_send_message {"to":"lead","message":"proof is written","summary":"proof"}`,
			`mcp team_task_update {"taskId":"1","status":"completed"}`,
			"cost 0.5", "say One is done.",
		}})
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeDone, "all work is done")
	if e.Members[1].CostUSD != 0.5 || e.Members[1].Tokens != 110 {
		t.Errorf("dev's ending is %+v", e.Members[1])
	}
	if list := r.List(); list[0].Status != tasks.Completed || list[0].Owner != "dev" {
		t.Errorf("the task is %+v", list[0])
	}
	if r.Read("proof") != "here" {
		t.Error("the file was not written in the workspace")
	}
	started := teamtest.Of[events.MemberStarted](r, "member_started")
	if i := slices.IndexFunc(started, func(m events.MemberStarted) bool { return m.Agent == "acp/"+filepath.Base(fakeBinary(t)) }); i < 0 {
		t.Errorf("the members' agents are %+v", started)
	}
	prompt := strings.Join(toldFake(t, dir, "prompt"), "\n")
	for _, words := range []string{
		"You are dev, a teammate of the team crew", "claim it with team_task_claim", "set it to completed with team_task_update",
	} {
		if !strings.Contains(prompt, words) {
			t.Errorf("the prompt lacks %q:\n%s", words, prompt)
		}
	}
	prompt = strings.ReplaceAll(prompt, "Your own SendMessage or Agent tools do not reach this team.", "")
	if strings.Contains(prompt, "TaskUpdate") || strings.Contains(prompt, "SendMessage") {
		t.Errorf("the prompt names tools that the program has not:\n%s", prompt)
	}
	ends := teamtest.Of[events.TurnEnded](r, "turn_ended")
	i := slices.IndexFunc(ends, func(e events.TurnEnded) bool { return e.CostUSD > 0 })
	if i < 0 || ends[i].CostUSD != 0.5 || ends[i].Usage.InputTokens != 100 || ends[i].UsageUnknown {
		t.Errorf("the turns cost %+v", ends)
	}
	for _, c := range teamtest.Of[events.PermissionDecided](r, "permission") {
		t.Errorf("somebody was asked: %+v", c)
	}
}

// fakeRigOf is newFakeRig with another spec; %PROGRAM% and %DIR% in it are the
// fake's program and folder.
func fakeRigOf(t *testing.T, spec string, files map[string]string, acts ...act) (*teamtest.Rig, string) {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"team.yaml": strings.NewReplacer("%PROGRAM%", fakeBinary(t), "%DIR%",
			dir).Replace(spec), "lead.yaml": teamtest.LeadLetsWork,
	}
	maps.Copy(all, files)
	r := teamtest.NewRig(t, all)
	setPlay(t, dir, play{Scenes: acts})
	return r, dir
}

// Every gate refuses once, and the program mends what it is told to.
func TestGatesOfAnAgentProgram(t *testing.T) {
	t.Parallel()
	once := func(gate string) string {
		return fmt.Sprintf("[{hooks: [{type: command, command: %q}]}]",
			"test -f "+gate+" && exit 0; touch "+gate+"; echo "+gate+" wants more >&2; exit 2")
	}
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, `
tasks: [{id: a, subject: One, owner: dev}]
hooks:
  TaskCompleted: `+once("completed")+`
  TeammateIdle: `+once("idle")+`
  Stop: `+once("stop")+"\n",
		act{When: "You own task #1", Do: []string{
			`mcp team_task_claim {"taskId":"1"}`, `mcp team_task_update {"taskId":"1","status":"completed"}`, "say I tried.",
		}},
		act{When: "stop wants more", Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`, "say Again."}},
		act{When: "idle wants more", Do: []string{"say There is nothing more."}},
	)
	// The lead meets the Stop gate, too, and must not be the one it refuses.
	r.Rewrite("team.yaml", "test -f stop &&", "test $COVEY_MEMBER = lead && exit 0; test -f stop &&")
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if results := strings.Join(toldFake(t, dir, "result"), "\n"); !strings.Contains(results, "completed wants more") {
		t.Errorf("the program was not told that completing was refused:\n%s", results)
	}
	prompts := strings.Join(toldFake(t, dir, "prompt"), "\n")
	for _, gate := range []string{"stop", "idle"} {
		if n := strings.Count(prompts, "]: "+gate+" wants more"); n != 1 {
			t.Errorf("the program heard %d times that the %s gate refused:\n%s", n, gate, prompts)
		}
	}
	if starts := toldFake(t, dir, "start"); len(starts) != 1 {
		t.Errorf("the program was started %d times", len(starts))
	}
}

func TestRulesForAnAgentProgram(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{
			"run touch granted", "run rm -f granted", `mcp team_task_update {"taskId":"1","status":"completed"}`,
		}})
	r.Rewrite("team.yaml", "dev: {agent: fake}",
		`dev: {agent: fake, permissions: {allow: ["Bash(touch *)"], deny: ["Bash(rm *)"]}}`)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if _, err := os.Stat(filepath.Join(r.Dir, "granted")); err != nil {
		t.Error("the call that a rule grants did not run")
	}
	var decided []string
	for _, d := range teamtest.Of[events.PermissionDecided](r, "permission") {
		decided = append(decided, d.Decision+" "+d.Rule)
	}
	if want := []string{"allow Bash(touch *)", "deny Bash(rm *)"}; !slices.Equal(decided, want) {
		t.Errorf("decided was %q, want %q", decided, want)
	}
	if results := toldFake(t, dir, "result"); len(results) < 2 || results[1] != "denied" {
		t.Errorf("the program got %q", results)
	}
}

// TestToolsOfAnAgentProgram: the spec's list of tools binds a program, too.
func TestToolsOfAnAgentProgram(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{
			"run echo ran > ran", "edit edited by-the-program", `mcp team_task_update {"taskId":"1","status":"completed"}`,
		}})
	r.Rewrite("team.yaml", "dev: {agent: fake}",
		`dev: {agent: fake, permission_mode: bypassPermissions, tools: [Read]}`)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if _, err := os.Stat(filepath.Join(r.Dir, "ran")); err == nil {
		t.Error("a tool that the member has not got ran, though its program asked")
	}
	broke := ""
	for _, d := range teamtest.Of[events.CallDetected](r, "call_detected") {
		broke += d.Tool + ":" + d.Violated
	}
	if broke != "Write:Edit" && broke != "Edit:Edit" { // what it is called is package acp's affair
		t.Errorf("detected was %q", broke)
	}
}

// A program that is killed in the middle of its turn enters its session again,
// with a token of its own.
func TestAgentProgramIsKilled(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "Your program ended in the middle",
			Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`}},
		act{When: "You own task #1", Do: []string{`mcp team_task_claim {"taskId":"1"}`, "die"}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	made, loaded := toldFake(t, dir, "new"), toldFake(t, dir, "load")
	if len(made) != 1 || !slices.Equal(made, loaded) {
		t.Errorf("sessions made: %q, loaded: %q", made, loaded)
	}
	if tokens := toldFake(t, dir, "token"); len(tokens) != 2 || tokens[0] == tokens[1] {
		t.Errorf("the program's two lives had the tokens %q", tokens)
	}
}

// A session that the program has lost is made up for in words.
func TestAgentProgramLosesItsSession(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, description: all of it, owner: dev}]\n",
		act{When: "and have no memory of it", Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`}},
		act{When: "You own task #1", Do: []string{`mcp team_task_claim {"taskId":"1"}`,
			"say I am half way.", "forget", "die"}})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	prompts := toldFake(t, dir, "prompt")
	if len(prompts) < 2 {
		t.Fatalf("the prompts are %q", prompts)
	}
	for _, words := range []string{
		"You are dev, a teammate", "The team's goal: | Ship it.", "- #1 One (in_progress) |   all of it", "I am half way.",
	} {
		if !strings.Contains(prompts[1], words) {
			t.Errorf("the brief lacks %q:\n%s", words, prompts[1])
		}
	}
	if made := toldFake(t, dir, "new"); len(made) != 2 {
		t.Errorf("sessions made: %q", made)
	}
}

// A program that dies time and again is given up, and its tasks with it.
func TestAgentProgramThatAlwaysDies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes the pauses between restarts")
	}
	die := act{Do: []string{"die"}}
	r, _ := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n", die, die, die, die,
		die, die, die, die)
	e := r.Run(orchestrator.Options{})
	if e.Code == orchestrator.CodeDone || !strings.Contains(strings.Join(e.Problems, "\n"), "crashed 4 times in a row") {
		t.Errorf("the team ended with %d: %s: %q", e.Code, e.Reason, e.Problems)
	}
	if !strings.Contains(e.Reason, "dev takes no more turns: it failed: ") || !strings.Contains(e.Reason,
		"crashed 4 times in a row") ||
		strings.Contains(e.Reason, "no idle member takes it by itself") {
		t.Errorf("the end does not name who failed: %s", e.Reason)
	}
	restarts := teamtest.Of[events.ProgramRestarts](r, "program_restarts")
	if len(restarts) != 3 || restarts[0].Left != 2 || restarts[2].Left != 0 ||
		!strings.Contains(restarts[0].Reason, "signal: killed") {
		t.Errorf("the journal tells of the restarts %+v", restarts)
	}
	if one := r.List()[0]; one.Owner != "" || one.Status != tasks.Pending {
		t.Errorf("the task is %+v", one)
	}
}

func TestAgentProgramThinksWithAScript(t *testing.T) {
	spec := `covey: 1
name: crew
models:
  lead: {provider: script, script: lead.yaml}
  one: {provider: script, script: one.yaml}
  two: {provider: script, script: two.yaml}
agents:
  first: {use: acp, command: [%PROGRAM%], model: one, env: {` + fakeVariable + `: %DIR%}}
  second: {use: acp, command: [%PROGRAM%], model: two, env: {` + fakeVariable + `: %DIR%}}
lead: {model: lead}
teammates:
  dev: {agent: first}
  ops: {agent: second}
tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: ops, blocked_by: [a]}]
`
	t.Setenv("ANTHROPIC_API_KEY", "the-users-own")
	r, dir := fakeRigOf(t, spec, map[string]string{
		"one.yaml": "steps: [{say: I am the first.}]\n", "two.yaml": "steps: [{say: I am the second.}]\n",
	},
		act{When: "You own task #1", Do: []string{"think hello",
			`mcp team_task_update {"taskId":"1","status":"completed"}`}},
		act{When: "You own task #2", Do: []string{"think hello",
			`mcp team_task_update {"taskId":"2","status":"completed"}`}},
	)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	said := map[string]string{}
	for _, l := range r.Lines.All() {
		if l.Type == "text" {
			said[l.Member] += string(l.Data)
		}
	}
	if !strings.Contains(said["dev"], "I am the first.") || !strings.Contains(said["ops"], "I am the second.") {
		t.Errorf("said was %q", said)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(env), "the-users-own") || !strings.Contains(string(env),
		filepath.Join("scratch", "ops.home")) {
		t.Errorf("the program sees:\n%s", env)
	}
}

func TestAgentProgramsEnvironment(t *testing.T) {
	key := act{When: "You own", Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`}}
	t.Setenv("OPENAI_API_KEY", "secret-openai")
	t.Setenv("ANTHROPIC_API_KEY", "secret-anthropic")
	t.Setenv("NO_PROXY", "example.org")
	t.Setenv("COVEY_PASS_ENV", "OPENAI_API_KEY")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("secret-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for auth, secrets := range map[string][]string{
		"login":                             nil,
		"{key: ANTHROPIC_API_KEY}":          {"ANTHROPIC_API_KEY=secret-anthropic"},
		"{key: MY_KEY, file: " + file + "}": {"MY_KEY=secret-file"},
	} {
		r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n", key)
		r.Rewrite("team.yaml", "use: acp,", "use: acp, auth: "+auth+",")
		r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
		env, err := os.ReadFile(filepath.Join(dir, "env"))
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for line := range strings.Lines(string(env)) {
			if strings.Contains(line, "secret-") {
				seen = append(seen, strings.TrimSpace(line))
			}
		}
		if !slices.Equal(seen, secrets) {
			t.Errorf("with auth %s the program sees the secrets %q, want %q", auth, seen, secrets)
		}
		for _, want := range []string{"COVEY_MEMBER=dev", "COVEY_TEAM=crew", "COVEY_RUN=", "PWD=" + r.Dir,
			"NO_PROXY=example.org,127.0.0.1,localhost"} {
			if !strings.Contains(string(env), want) {
				t.Errorf("the program does not see %s:\n%s", want, env)
			}
		}
	}
}

func TestProgramsThatCannotBeStarted(t *testing.T) {
	const spec = `covey: 1
name: crew
models: {lead: {provider: script, script: lead.yaml}}
agents:
  first: {use: acp, command: [no-such-program-1, --acp]}
  second: {use: acp, command: [./not-a-program]}
  third: {use: acp, command: [%PROGRAM%], auth: {key: NO_SUCH_KEY}}
  fourth: {use: acp, command: [%PROGRAM%], auth: {key: K, file: empty-key}}
  fifth: {use: codex}
lead: {model: lead}
teammates:
  a: {agent: first}
  b: {agent: second}
  c: {agent: third}
  d: {agent: fourth}
  e: {agent: fifth}
  f: {agent: fifth}
`
	t.Setenv("PATH", t.TempDir())
	r, _ := fakeRigOf(t, spec, map[string]string{"not-a-program": "", "empty-key": "\n"})
	team, err := configs.Load(filepath.Join(r.Dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(r.Dir, "not-a-program"), 0o600); err != nil { // since it was read
		t.Fatal(err)
	}
	_, err = orchestrator.New(team, orchestrator.Options{})
	if !errors.Is(err, configs.ErrSpec) || !errors.Is(err, launch.ErrNoProgram) {
		t.Fatalf("New says %v", err)
	}
	for _, words := range []string{
		"first: its program no-such-program-1 is not installed: not found in PATH", "not-a-program is not installed: permission denied",
		"NO_SUCH_KEY is not set", "empty-key must hold an API key", "codex is not installed", "codex-acp", "npm i -g",
	} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the error lacks %q:\n%v", words, err)
		}
	}
	if n := strings.Count(err.Error(), "codex is not installed"); n != 1 {
		t.Errorf("the same program is missed %d times:\n%v", n, err)
	}
}

// An interrupt ends the prompt and leaves the program alive; down ends it.
func TestAgentProgramIsInterrupted(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{`mcp team_task_claim {"taskId":"1"}`, "hang"}},
		act{When: "[Request interrupted by user]", Do: []string{"say So I was interrupted."}},
	)
	c := r.Up()
	testkit.AwaitFile(t, filepath.Join(dir, "log"), "hang")
	if _, err := c.Interrupt(t.Context(), api.InterruptRequest{Member: "dev", GoOn: true}); err != nil {
		t.Fatal(err)
	}
	r.Lines.Wait(t, "the next turn", func(l events.Line) bool {
		return strings.Contains(string(l.Data),
			"So I was interrupted.")
	})
	if starts := toldFake(t, dir, "start"); len(starts) != 1 {
		t.Errorf("the program was started %d times", len(starts))
	}
	url, token := toldFake(t, dir, "url")[0], toldFake(t, dir, "token")[0]
	if code := testkit.Send(t, testkit.NewPost(t.Context(), url, token, `{}`)).StatusCode; code == http.StatusUnauthorized {
		t.Errorf("the program's token is void while it runs")
	}
	if _, err := c.Down(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	r.Lines.Wait(t, "the end", func(l events.Line) bool { return l.Type == "team_ended" })
	pid := fakePID(t, dir)
	if p, err := process.Read(pid); err == nil && !p.Zombie {
		t.Errorf("process %d still runs", pid)
	}
}

// A member that a hook has stopped loses its program and its token.
func TestAgentProgramOfAHaltedMember(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, `
tasks: [{id: a, subject: One, owner: dev}]
hooks:
  TeammateIdle: [{hooks: [{type: command, command: "echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}]}]
`, act{When: "You own task #1", Do: []string{"say I looked at it."}})
	_ = r.Up()
	r.Lines.Wait(t, "the lead's notice", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), "takes no more turns")
	})
	if code := testkit.Send(t, testkit.NewPost(t.Context(), toldFake(t, dir, "url")[0], toldFake(t, dir, "token")[0],
		`{}`)).StatusCode; code != http.StatusUnauthorized {
		t.Errorf("the token of a member that has left still counts: %d", code)
	}
	pid := fakePID(t, dir)
	if p, err := process.Read(pid); err == nil && !p.Zombie {
		t.Errorf("process %d still runs", pid)
	}
}

// fakePID is the pid of the fake's first life.
func fakePID(t *testing.T, dir string) int {
	t.Helper()
	pid, err := strconv.Atoi(toldFake(t, dir, "start")[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// covey is killed in the middle of a program's turn: the next run ends what was
// left of it, and enters the same session again.
func TestCoveyOfAnAgentProgramIsKilled(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "cut off before its end", Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`}},
		act{When: "You own task #1", Do: []string{`mcp team_task_claim {"taskId":"1"}`, "cost 2", "deaf"}})
	cmd := r.OwnProcess()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.AwaitFile(t, filepath.Join(dir, "log"), "deaf")
	if err := errors.Join(cmd.Process.Kill(), ignoreExit(cmd.Wait())); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	made, loaded := toldFake(t, dir, "new"), toldFake(t, dir, "load")
	if len(made) != 1 || !slices.Equal(made, loaded) {
		t.Errorf("sessions made: %q, loaded: %q", made, loaded)
	}
	if p, err := process.Read(fakePID(t, dir)); err == nil && !p.Zombie {
		t.Error("the program of the killed run still runs")
	}
	for _, l := range r.Lines.All() { // with those of the first run that were not yet written when it was killed
		if l.Type == "task" && l.Time.After(killed) && strings.Contains(string(l.Data), `"op":"`+string(tasks.Claimed)+`"`) {
			t.Errorf("the task was claimed once more: %s", l.Data)
		}
	}
}

// ignoreExit leaves out that a process was killed, which is what was wanted.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// A program that is run once for each prompt, and reaches the team as far as
// its environment lets it.
func TestCommandAgentDoesATask(t *testing.T) {
	t.Parallel()
	spec := `covey: 1
name: crew
models: {lead: {provider: script, script: lead.yaml}}
agents:
  tool: {use: command, command: [%PROGRAM%, "a b"], env: {` + commandFakeVariable + `: %DIR%}}
lead: {model: lead}
teammates:
  dev: {agent: tool}
tasks: [{id: a, subject: One, owner: dev}]
hooks:
  Stop: [{hooks: [{type: command, command: "test $COVEY_MEMBER = lead && exit 0; test -f mended && exit 0; echo mend it >&2; exit 2"}]}]
`
	r, dir := fakeRigOf(t, spec, nil)
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	started := teamtest.Of[events.MemberStarted](r, "member_started")
	if !slices.ContainsFunc(started, func(m events.MemberStarted) bool { return m.Agent == "command/"+filepath.Base(fakeBinary(t)) }) {
		t.Errorf("the members' agents are %+v", started)
	}
	prompts := strings.Join(toldFake(t, dir, "prompt"), "\n")
	for _, words := range []string{"You are dev, a teammate",
		"`\"$COVEY_BIN\" tasks update 1 --status completed`", "mend it"} {
		if !strings.Contains(prompts, words) {
			t.Errorf("the prompts lack %q:\n%s", words, prompts)
		}
	}
	if strings.Contains(prompts, "TaskUpdate") || strings.Contains(prompts, teamtools.UpdateTool) {
		t.Errorf("the prompts name tools that the program has not:\n%s", prompts)
	}
	if pids := toldFake(t, dir, "start"); len(pids) != 2 {
		t.Errorf("%d programs ran for two prompts", len(pids))
	}
}

// fakeBinary is the test binary, which plays the agent programs.
func fakeBinary(t *testing.T) string {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
