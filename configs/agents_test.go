package configs

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// parseAgents parses agents in a folder that holds a script, a program and a
// key file. The environment has TOKEN and EMPTY alone.
func parseAgents(t testing.TB, agents string, opts Options) (*Team, string, error) {
	t.Helper()
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "bin/agent.sh": "#!/bin/sh\n", "a.key": "sk-file\n"})
	if opts.Lookup == nil {
		opts.Lookup = func(name string) (string, bool) {
			value, ok := map[string]string{"TOKEN": "sk-secret", "EMPTY": ""}[name]
			return value, ok
		}
	}
	spec := "covey: 1\nmodels: {demo: {provider: script, script: demo.yaml}}\n" + agents
	team, err := ParseWith(filepath.Join(dir, "team.yaml"), []byte(spec), opts)
	return team, dir, err
}

// TestAgents holds what each form of an agent becomes.
func TestAgents(t *testing.T) {
	demo := func(dir string) Model {
		return Model{Name: "demo", Provider: Script, Script: filepath.Join(dir, "demo.yaml")}
	}
	program := func(a Agent) func(string) Agent {
		return func(string) Agent {
			if a.Auth == "" {
				a.Auth = Login
			}
			return a
		}
	}
	tests := map[string]func(dir string) Agent{
		"{model: demo}":                 func(dir string) Agent { return Agent{Kind: Builtin, Model: demo(dir)} },
		"{use: acp, command: [x, '']}":  program(Agent{Kind: ACP, Command: []string{"x", ""}}),
		"{use: command, command: [x]}":  program(Agent{Kind: Command, Command: []string{"x"}}),
		"{use: gemini}":                 program(Agent{Kind: ACP, Preset: Gemini}),
		"{use: codex, command: [mine]}": program(Agent{Kind: ACP, Preset: Codex, Command: []string{"mine"}}),
		"{use: acp, command: [./bin/agent.sh, ./a]}": func(dir string) Agent {
			return Agent{Kind: ACP, Auth: Login, Command: []string{filepath.Join(dir, "bin/agent.sh"), "./a"}}
		},
		"{use: command, command: [x, '{prompt}'], resume: [--resume, '{session}', '']}": program(
			Agent{Kind: Command, Command: []string{"x", "{prompt}"}, Resume: []string{"--resume", "{session}", ""}}),
		"{use: qwen, parallel: 3, native_hooks: on}":     program(Agent{Kind: ACP, Preset: Qwen, Parallel: 3, NativeHooks: true}),
		"{use: qwen, native_hooks: true}":                program(Agent{Kind: ACP, Preset: Qwen, NativeHooks: true}),
		"{use: qwen, native_hooks: off}":                 program(Agent{Kind: ACP, Preset: Qwen}),
		"{use: qwen, native_hooks: false, auth: login}":  program(Agent{Kind: ACP, Preset: Qwen}),
		"{use: copilot, auth: key}":                      program(Agent{Kind: ACP, Preset: Copilot, Auth: Key}),
		"{use: acp, command: [x], auth: {key: API_KEY}}": program(Agent{Kind: ACP, Command: []string{"x"}, Auth: Key, KeyVar: "API_KEY"}),
		"{use: claude, auth: {file: a.key}}": func(dir string) Agent {
			return Agent{Kind: ACP, Preset: Claude, Auth: Key, KeyFile: filepath.Join(dir, "a.key")}
		},
		"{use: acp, command: [x], auth: {key: _K1, file: ./a.key}}": func(dir string) Agent {
			return Agent{Kind: ACP, Command: []string{"x"}, Auth: Key, KeyVar: "_K1", KeyFile: filepath.Join(dir, "a.key")}
		},
		"{use: opencode, model: demo}": func(dir string) Agent {
			return Agent{Kind: ACP, Preset: OpenCode, Auth: Login, Model: demo(dir)}
		},
	}
	for spec, want := range tests {
		team, dir, err := parseAgents(t, "agents: {x: "+spec+"}\nlead: x\nteammates: {y: {agent: x}}\n", Options{})
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		agent := want(dir)
		agent.Name = "x"
		for where, got := range map[string]Agent{"agents": team.Agents["x"], "lead": team.Lead.Agent,
			"teammate": team.Teammates[0].Agent} {
			if !reflect.DeepEqual(got, agent) {
				t.Errorf("%s in %s is %+v, want %+v", spec, where, got, agent)
			}
		}
		if len(team.Warnings) > 0 {
			t.Errorf("%s: warnings %v", spec, team.Warnings)
		}
	}
}

// TestPresets: a preset needs no entry, an entry of its name comes before it,
// and a given agent stands between the two.
func TestPresets(t *testing.T) {
	for _, preset := range Presets() {
		team, _, err := parseAgents(t, fmt.Sprintf("lead: %s\nteammates: {a: {agent: %[1]s}}\n", preset), Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := Agent{Name: preset, Kind: ACP, Preset: Preset(preset), Auth: Login}
		if !reflect.DeepEqual(team.Lead.Agent, want) || !reflect.DeepEqual(team.Teammates[0].Agent, want) {
			t.Errorf("%s: lead %+v, teammate %+v", preset, team.Lead.Agent, team.Teammates[0].Agent)
		}
		if len(team.Agents) != 0 {
			t.Errorf("%s: agents %v", preset, team.Agents)
		}
	}
	opts := Options{Given: []string{"mine", "codex", "gemini"}}
	team, _, err := parseAgents(t, "agents: {gemini: {model: demo}, claude: {use: codex}}\ndefaults: {agent: mine}\nlead: {}\n"+
		"teammates: {a: codex, b: gemini, c: claude, d: qwen}\n", opts)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, m := range team.Members() {
		got += fmt.Sprintf("%s:%s:%s:%s ", m.Name, m.Agent.Name, m.Agent.Kind, m.Agent.Preset)
	}
	if want := "lead:mine:given: a:codex:given: b:gemini:builtin: c:claude:acp:codex d:qwen:acp:qwen "; got != want {
		t.Errorf("members %s, want %s", got, want)
	}
	if _, _, err := parseAgents(t, "lead: mine\n", Options{}); err == nil {
		t.Error("an agent that nobody gave was found")
	}
	if _, _, err := parseAgents(t, "lead: mien\n", opts); err == nil || !strings.Contains(err.Error(), "write mine") {
		t.Errorf("a given agent misspelt: %v", err)
	}
}

// TestFiveLines is a whole team in five lines.
func TestFiveLines(t *testing.T) {
	team := mustParse(t, "covey: 1\ngoal: Ship the changelog endpoint.\nlead: claude\n"+
		"teammates: {api: codex, docs: gemini}\ngates: {task: [go test ./...]}\n")
	if team.Lead.Agent.Preset != Claude || team.Teammates[0].Agent.Preset != Codex || team.Teammates[1].Agent.Preset != Gemini {
		t.Errorf("members %+v", team.Members())
	}
}

// TestLoadWith: options reach a spec in a file as well.
func TestLoadWith(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"team.yaml": "covey: 1\nlead: mine\n"})
	team, err := LoadWith(filepath.Join(dir, "team.yaml"), Options{Given: []string{"mine"}})
	if err != nil || team.Lead.Agent.Kind != Given {
		t.Errorf("team %+v, error %v", team, err)
	}
	if _, err := LoadWith(filepath.Join(dir, "none.yaml"), Options{}); err == nil {
		t.Error("a spec that is not there was read")
	}
}

// TestEnv holds what a value in the spec becomes for the program.
func TestEnv(t *testing.T) {
	for value, want := range map[string]string{
		"text": "text", "8080": "8080", "1.50": "1.50", "0x1F": "0x1F", "true": "true", "False": "False", "''": "",
		"'null'": "null", "1e400": "1e400", "99999999999999999999": "99999999999999999999", "-0": "-0",
		"'${TOKEN}'": "sk-secret", "'a-${TOKEN}${EMPTY}-b'": "a-sk-secret-b", "'$$'": "$", "'$${TOKEN}'": "${TOKEN}",
		"'$$$${TOKEN}'": "$${TOKEN}", "'$$${TOKEN}'": "$sk-secret", "'}{'": "}{", "\"two\\nlines\"": "two\nlines",
		"'{\"$$schema\": \"é\"}'": `{"$schema": "é"}`,
	} {
		team, _, err := parseAgents(t, "agents: {x: {use: codex, env: {A: "+value+"}}}\nlead: x\n", Options{})
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if env := team.Lead.Agent.Env; len(env) != 1 || env[0].Name != "A" || env[0].Value != want {
			t.Errorf("%s becomes %#v, want %q", value, env, want)
		}
	}
	team, _, err := parseAgents(t, "agents: {x: {use: codex, env: {Z: 1, A: 2, m_9: 3}}}\nlead: x\n", Options{})
	if err != nil || fmt.Sprint(team.Lead.Agent.Env) != "[Z=1 A=2 m_9=3]" {
		t.Errorf("env %v in another order than the file's, error %v", team.Lead.Agent.Env, err)
	}
}

// TestEnvOfProcess: without options the variables are covey's own.
func TestEnvOfProcess(t *testing.T) {
	t.Setenv("CONFIGS_TEST_TOKEN", "sk-process")
	team := mustParse(t, "covey: 1\nagents: {x: {use: codex, env: {A: \"${CONFIGS_TEST_TOKEN}\"}}}\nlead: x\n")
	if got := team.Lead.Agent.Env[0].Value; got != "sk-process" {
		t.Errorf("value %q", got)
	}
}

// TestSecretsStayInside: nothing that shows a team shows what its variables
// have been expanded to.
func TestSecretsStayInside(t *testing.T) {
	team, _, err := parseAgents(t, "agents:\n  x: {use: codex, env: {A: \"${TOKEN}\", B: 7}, auth: {key: K, file: a.key}}\nlead: x\n"+
		"teammates: {y: x}\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(team)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(asJSON) + fmt.Sprint(team) + fmt.Sprintf("%v %+v %s", *team, team.Lead, team.Lead.Agent.Env)
	if strings.Contains(shown, "sk-") || !strings.Contains(shown, "${TOKEN}") {
		t.Errorf("shown: %s", shown)
	}
	if _, _, err := parseAgents(t, "agents: {x: {use: codex, env: {A: \"${TOKEN}${NONE}$\"}}}\nlead: x\n", Options{}); err == nil ||
		strings.Contains(err.Error(), "sk-") {
		t.Errorf("error %v", err)
	}
}

// TestAgentWarnings are legal and look like mistakes.
func TestAgentWarnings(t *testing.T) {
	for spec, want := range map[string]string{
		"agents: {x: {use: acp, command: [a, '{prompt}']}}\nlead: x\n":                       "team.yaml:3:37: {prompt} has no effect here",
		"agents: {x: {use: claude, model: demo, auth: key}}\nlead: x\n":                      "does not log in",
		"agents: {x: {use: claude, model: demo, auth: {file: a.key}}}\nlead: x\n":            "does not log in",
		"lead: {model: demo, tools: [WebSearch]}\n":                                          "there is no tool \"WebSearch\" in this version",
		"lead: {model: demo, tools: [Task]}\n":                                               "there is no tool \"Task\" in this version",
		"lead: {agent: claude, tools: [Rocket]}\n":                                           "ScheduleList, WebSearch",
		"lead: {model: demo}\ntasks: [{subject: a, wants: {tools: [LS]}}]\n":                 "no tool \"LS\"",
		"lead: {agent: claude, tools: [mcp__]}\n":                                            "no tool \"mcp__\"",
		"lead: {agent: claude, tools: [WebFetch, WebSearch, NotebookEdit, MultiEdit, LS]}\n": "",
		"lead: {agent: claude, tools: [Task, mcp__github__search, Bash, TaskList]}\n":        "",
		"lead: {agent: mine, tools: [Task]}\n":                                               "",
		"agents: {x: {use: command, command: [x]}}\nlead: {agent: x, tools: [LS]}\n":         "",
		"lead: codex\ntasks: [{subject: a, wants: {tools: [LS]}}]\n":                         "",
	} {
		team, _, err := parseAgents(t, spec, Options{Given: []string{"mine"}})
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		got := fmt.Sprint(team.Warnings)
		if (want == "") != (len(team.Warnings) == 0) || !strings.Contains(got, want) {
			t.Errorf("%s gives %s, want %q", spec, got, want)
		}
	}
}

// TestProgramPlaces: only a program that is named by its path must be there.
func TestProgramPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no rights of the kind here")
	}
	dir := testkit.Files(t, map[string]string{"work/bin/agent.sh": "", "bin/beside.sh": ""})
	for program, want := range map[string]string{
		"./bin/agent.sh":                    filepath.Join(dir, "work/bin/agent.sh"),
		"../bin/beside.sh":                  filepath.Join(dir, "bin/beside.sh"),
		"./../work//bin/agent.sh":           filepath.Join(dir, "work/bin/agent.sh"),
		filepath.Join(dir, "bin/beside.sh"): filepath.Join(dir, "bin/beside.sh"),
		"agent.sh":                          "agent.sh",
		"not-installed-anywhere":            "not-installed-anywhere",
	} {
		team, err := Parse(filepath.Join(dir, "team.yaml"), fmt.Appendf(nil,
			"covey: 1\nworkspace: work\nagents: {x: {use: acp, command: [%q]}}\nlead: x\n", program))
		if err != nil {
			t.Errorf("%s: %v", program, err)
		} else if got := team.Lead.Agent.Command[0]; got != want {
			t.Errorf("%s is %s, want %s", program, got, want)
		}
	}
}

// TestMandatory: rules keep their word when members inherit them.
func TestMandatory(t *testing.T) {
	team := mustParse(t, head+`defaults: {permissions: {deny: [Bash, {rule: "Edit(a/**)", mandatory: true}], ask: [{rule: Read}]}}
lead: {model: demo}
teammates:
  x: {model: demo, permissions: {deny: [{rule: Write, mandatory: true}, {rule: "Edit(a/**)", mandatory: true}], ask: [{rule: Grep, mandatory: true}]}}
  y: {model: demo, permissions: {deny: [{rule: Write, mandatory: false}]}}
`)
	for i, want := range []Permissions{
		{Ask: []string{"Read"}, Deny: []string{"Bash", "Edit(a/**)"}, Mandatory: []string{"Edit(a/**)"}},
		{Ask: []string{"Read", "Grep"}, Deny: []string{"Bash", "Edit(a/**)", "Write", "Edit(a/**)"},
			Mandatory: []string{"Grep", "Edit(a/**)", "Write"}},
		{Ask: []string{"Read"}, Deny: []string{"Bash", "Edit(a/**)", "Write"}, Mandatory: []string{"Edit(a/**)"}},
	} {
		if got := team.Members()[i].Permissions; !reflect.DeepEqual(got, want) {
			t.Errorf("member %d: %+v, want %+v", i, got, want)
		}
	}
}
