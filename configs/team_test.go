package configs

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
)

// parse parses a spec in a folder that holds demo.yaml, a script.
func parse(t testing.TB, spec string) (*Team, error) {
	t.Helper()
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n"})
	return Parse(filepath.Join(dir, "team.yaml"), []byte(spec))
}

// mustParse is parse for specs without mistakes.
func mustParse(t testing.TB, spec string) *Team {
	t.Helper()
	team, err := parse(t, spec)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, spec)
	}
	return team
}

// everyKey uses every key that this version has.
const everyKey = `covey: 1
name: changelog-crew
goal: Ship the changelog endpoint.
workspace: work
models:
  demo: {provider: script, script: scripts/demo.yaml}
agents:
  coder: {use: builtin, model: demo, fallback: qwen}
  inline: {model: {provider: script, script: scripts/inline.yaml}}
  rev: {use: acp, command: [opencode, acp], env: {KEY: "a$$b", PORT: 8080}, auth: login, parallel: 2, native_hooks: off}
  linter: {use: command, command: [./bin/lint.sh, "{prompt}"], resume: [--resume, "{session}"], auth: {key: LINT_KEY, file: lint.key}}
  codex: {use: codex, model: demo, native_hooks: on}
defaults: {agent: coder, permission_mode: acceptEdits, limits: {max_turns: 30}}
lead: {name: chief, agent: inline, self_claim: true}
teammates:
  backend:
    agent: coder
    description: owns the Go service
    instructions: |
      Write Go.
    tools: [Read, Edit, Write, Bash, Grep, Glob]
    permission_mode: plan
    permissions: {allow: ["Bash(go test *)"], ask: [Write], deny: ["Bash(git push*)", {rule: "Edit(policy/**)", mandatory: true}]}
    isolation: shared
    owns: [docs/**, "*.md"]
    role: writer
    labels: [go, docs]
    plan: required
    depends_on: [docs, chief]
    restart: {max: 5, within: 30m}
    rotate: task
    self_claim: false
    limits: {max_turns: 40, max_tokens: 200000, turn_timeout: 10m, max_in_progress: 1, stop_block_cap: 0, max_budget_usd: 2.5, background: 1h}
  docs: {model: demo, prompt_file: docs.md, isolation: worktree, plan: none, restart: {max: 0}}
  plain: coder
  reviewer: {agent: rev, tools: [Read, WebFetch, mcp__github__search]}
  linter: linter
  offline: codex
  vendor: claude
tasks:
  - {id: schema, subject: Draw the schema}
  - {id: api, subject: Add the endpoint, description: In full, owner: backend, blocked_by: [schema], labels: [go], wants: {tools: [Bash], role: writer, labels: [go]}}
  - subject: Write it up!
gates:
  task: [go test ./..., {run: ./bin/evidence.sh, timeout: 2m}, {approve: plain}]
  idle: [{policy: no-open-tasks}, {run: ./bin/sweep.sh, may_act: true}]
  stop: []
  merge: [go vet ./..., {approve: person, timeout: 1h}]
hooks:
  TeammateIdle:
    - hooks: [{type: command, command: ./policy/no-open-tasks.sh, timeout: 30}]
  PreToolUse:
    - matcher: Bash|Edit
      hooks:
        - {type: command, command: ./pre.sh, if: "Bash(git *)", args: ["", a], shell: bash, statusMessage: looking, once: true, onFailure: block, async: true, asyncRewake: true}
        - {type: command, command: ./hold.sh, mandatory: true}
  PostToolUse:
    - hooks: [{type: command, command: ./note.sh, may_act: true}]
settings: [.claude/settings.json]
worktree: {setup: [npm ci, npm ci], include: [.env.local], base: main, max_disk: 5GB, ports: 3}
merge: {into: main, via: pr, per: member}
git: {filters: [lfs]}
protect: [policy/**, .github/**]
budget: {tokens: 3M, usd: 20, time: 2h, on_limit: fallback, prices: prices.yaml}
schedules:
  - {name: nightly, cron: "30 2 * * *", zone: Europe/Berlin, task: {subject: Look at CI, owner: plain, labels: [ci], wants: {tools: [Bash]}}}
  - {name: standup, cron: "@daily", to: chief, text: What is open?}
on_ask: wait
ask_limit: 1h
complete_on_pass: true
keep: true
`

func everyKeyFiles() map[string]string {
	return map[string]string{
		"team.yaml":             everyKey,
		"work/go.mod":           "module x\n",
		"work/bin/lint.sh":      "#!/bin/sh\n",
		"work/bin/evidence.sh":  "#!/bin/sh\n",
		"work/bin/sweep.sh":     "#!/bin/sh\n",
		"lint.key":              "sk-lint\n",
		"scripts/demo.yaml":     "steps: []\n",
		"scripts/inline.yaml":   "steps: []\n",
		"prices.yaml":           "date: 2026-11-01\n",
		"docs.md":               "---\nname: docs\ndescription: Writes.\ntools: Read, Write\n---\n\nWrite well.\n",
		".claude/settings.json": "{}",
	}
}

// everyKeyTeam is what everyKey means in dir.
func everyKeyTeam(dir string) *Team {
	demo := Model{Name: "demo", Provider: Script, Script: filepath.Join(dir, "scripts/demo.yaml")}
	inline := Model{Provider: Script, Script: filepath.Join(dir, "scripts/inline.yaml")}
	coder := Agent{Name: "coder", Kind: Builtin, Model: demo, Fallback: "qwen"}
	qwen := Agent{Name: "qwen", Kind: ACP, Preset: Qwen, Auth: Login}
	other := Agent{Name: "inline", Kind: Builtin, Model: inline}
	rev := Agent{Name: "rev", Kind: ACP, Command: []string{"opencode", "acp"}, Auth: Login, Parallel: 2,
		Env: []EnvVar{{Name: "KEY", Value: "a$b", Text: "a$$b"}, {Name: "PORT", Value: "8080", Text: "8080"}}}
	linter := Agent{Name: "linter", Kind: Command, Command: []string{filepath.Join(dir, "work/bin/lint.sh"), "{prompt}"},
		Resume: []string{"--resume", "{session}"}, Auth: Key, KeyVar: "LINT_KEY", KeyFile: filepath.Join(dir, "lint.key")}
	codex := Agent{Name: "codex", Kind: ACP, Preset: Codex, Model: demo, Auth: Login, NativeHooks: true}
	claude := Agent{Name: "claude", Kind: ACP, Preset: Claude, Auth: Login}
	standard := Limits{MaxTurns: 30, StopBlockCap: 8, MaxInProgress: 1, Background: 30 * time.Minute}
	restart := Restart{Max: 3, Within: time.Hour}
	command := func(command string, seconds float64) hooks.Handler {
		return hooks.Handler{Type: "command", Command: command, Timeout: seconds}
	}
	gate := func(run string, seconds float64) hooks.Handler {
		h := command(run, seconds)
		h.Gate = true
		return h
	}
	approve := func(who string, seconds float64) hooks.Handler {
		return hooks.Handler{Policy: "approve:" + who, Approver: who, Gate: true, Timeout: seconds}
	}
	team := &Team{
		File: filepath.Join(dir, "team.yaml"), Name: "changelog-crew", Goal: "Ship the changelog endpoint.",
		Workspace: filepath.Join(dir, "work"),
		Models:    map[string]Model{"demo": demo},
		Agents:    map[string]Agent{"coder": coder, "inline": other, "rev": rev, "linter": linter, "codex": codex, "qwen": qwen},
		Lead: Member{Name: "chief", Agent: other, PermissionMode: AcceptEdits,
			SelfClaim: true, Limits: standard},
		Teammates: []Member{
			{Name: "backend", Agent: coder, Description: "owns the Go service", Instructions: "Write Go.\n",
				Tools:          []string{"Read", "Edit", "Write", "Bash", "Grep", "Glob"},
				PermissionMode: Plan, Isolation: Shared, Owns: []string{"docs/**", "*.md"}, PlanRequired: true,
				DependsOn: []string{"docs", "chief"}, Restart: Restart{Max: 5, Within: 30 * time.Minute, Given: true},
				Rotate: RotateAfterTask,
				Role:   "writer", Labels: []string{"go", "docs"},
				Permissions: Permissions{Allow: []string{"Bash(go test *)"}, Ask: []string{"Write"},
					Deny: []string{"Bash(git push*)", "Edit(policy/**)"}, Mandatory: []string{"Edit(policy/**)"}},
				Limits: Limits{MaxTurns: 40, MaxTokens: 200000, TurnTimeout: 10 * time.Minute, MaxInProgress: 1,
					StopBlockCap: 0, MaxBudgetUSD: 2.5, Background: time.Hour}},
			{Name: "docs", Agent: Agent{Kind: Builtin, Model: demo}, Description: "Writes.",
				Instructions: "Write well.", PromptFile: filepath.Join(dir, "docs.md"),
				Tools: []string{"Read", "Write"}, PermissionMode: AcceptEdits, Isolation: InWorktree,
				SelfClaim: true, Limits: standard},
			{Name: "plain", Agent: coder, PermissionMode: AcceptEdits, SelfClaim: true,
				Limits: standard},
			{Name: "reviewer", Agent: rev, Tools: []string{"Read", "WebFetch", "mcp__github__search"},
				PermissionMode: AcceptEdits, SelfClaim: true, Limits: standard},
			{Name: "linter", Agent: linter, PermissionMode: AcceptEdits, SelfClaim: true, Limits: standard},
			{Name: "offline", Agent: codex, PermissionMode: AcceptEdits, SelfClaim: true, Limits: standard},
			{Name: "vendor", Agent: claude, PermissionMode: AcceptEdits, SelfClaim: true, Limits: standard},
		},
		Tasks: []Task{
			{ID: "schema", Subject: "Draw the schema"},
			{ID: "api", Subject: "Add the endpoint", Description: "In full", Owner: "backend",
				BlockedBy: []string{"schema"}, Labels: []string{"go"}, WantsTools: []string{"Bash"},
				WantsRole: "writer", WantsLabels: []string{"go"}},
			{ID: "write-it-up", Subject: "Write it up!"},
		},
		Gates: hooks.Settings{
			hooks.TaskCompleted: {{Hooks: []hooks.Handler{gate("go test ./...", 0), gate("./bin/evidence.sh", 120), approve("plain", 0)}}},
			hooks.TeammateIdle: {{Hooks: []hooks.Handler{{Policy: "no-open-tasks", Gate: true},
				{Type: "command", Command: "./bin/sweep.sh", Gate: true, MayAct: true}}}},
		},
		Hooks: hooks.Settings{
			hooks.TeammateIdle: {{Hooks: []hooks.Handler{command("./policy/no-open-tasks.sh", 30)}}},
			hooks.PreToolUse: {{Matcher: "Bash|Edit", Hooks: []hooks.Handler{{Type: "command", Command: "./pre.sh",
				If: "Bash(git *)", Args: []string{"", "a"}, Shell: "bash", StatusMessage: "looking", Once: true,
				OnFailure: "block", Async: true, AsyncRewake: true},
				{Type: "command", Command: "./hold.sh", Mandatory: true}}}},
			hooks.PostToolUse: {{Hooks: []hooks.Handler{{Type: "command", Command: "./note.sh", MayAct: true}}}},
		},
		Settings: []string{filepath.Join(dir, ".claude/settings.json")},
		Keep:     true,

		Worktree: Worktree{Setup: []string{"npm ci", "npm ci"}, Include: []string{".env.local"}, Base: "main", MaxDisk: 5e9, Ports: 3},
		Merge: Merge{Into: "main", Via: ViaPR, Per: PerMember, Given: true,
			Gates: []hooks.Handler{gate("go vet ./...", 0), approve("person", 3600)}},
		Git:     Git{Filters: []string{"lfs"}},
		Protect: []string{"policy/**", ".github/**"},
		Budget:  Budget{Tokens: 3e6, USD: 20, Time: 2 * time.Hour, OnLimit: FallBack, Prices: filepath.Join(dir, "prices.yaml")},
		Schedules: []Schedule{
			{Name: "nightly", Cron: "30 2 * * *", Zone: "Europe/Berlin", Task: &Task{ID: "nightly", Subject: "Look at CI",
				Owner: "plain", Labels: []string{"ci"}, WantsTools: []string{"Bash"}}},
			{Name: "standup", Cron: "@daily", To: "chief", Text: "What is open?"},
		},
		OnAsk: WaitAsk, AskLimit: time.Hour, CompleteOnPass: true,
	}
	for i := range team.Teammates {
		m := &team.Teammates[i]
		m.Role, m.Restart = cmp.Or(m.Role, m.Agent.Name, m.Name), cmp.Or(m.Restart, restart)
		m.Rotate = cmp.Or(m.Rotate, RotateNever)
	}
	team.Lead.Role, team.Lead.Restart, team.Lead.Rotate = "inline", restart, RotateNever
	team.Teammates[1].Restart = Restart{Within: time.Hour, Given: true}
	return team
}

func TestEveryKey(t *testing.T) {
	dir := testkit.Files(t, everyKeyFiles())
	got, err := Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got.places = nil // TestPlaced
	if want := everyKeyTeam(dir); !reflect.DeepEqual(got, want) {
		a, _ := json.MarshalIndent(got, "", " ")
		b, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("got %s\nwant %s", a, b)
	}
	if members := got.Members(); len(members) != 8 || members[0].Name != "chief" || members[7].Name != "vendor" {
		t.Errorf("members %+v", members)
	}
}

// TestShortForms is the team of TestFiveLines with its agents on scripts.
func TestShortForms(t *testing.T) {
	team := mustParse(t, `covey: 1
goal: Ship the changelog endpoint.
models: {demo: {provider: script, script: demo.yaml}}
agents: {claude: {model: demo}, codex: {model: demo}, gemini: {model: demo}}
lead: claude
teammates: {api: codex, docs: gemini}
gates: {task: [go test ./...]}
`)
	var got []string
	for _, m := range team.Members() {
		got = append(got, m.Name+"="+m.Agent.Name)
	}
	if want := "lead=claude api=codex docs=gemini"; strings.Join(got, " ") != want {
		t.Errorf("members %v, want %s", got, want)
	}
	if gate := team.Gates[hooks.TaskCompleted][0].Hooks[0]; !gate.Gate || gate.Command != "go test ./..." {
		t.Errorf("gate %+v", gate)
	}
}

// TestModelsInline writes a model wherever one is wanted.
func TestModelsInline(t *testing.T) {
	team := mustParse(t, `covey: 1
agents: {a: {model: {provider: script, script: demo.yaml}}}
defaults: {model: {provider: script, script: demo.yaml}}
lead: {model: {provider: script, script: demo.yaml}}
teammates: {x: {description: inherits}, y: a}
`)
	for _, m := range team.Members() {
		if filepath.Base(m.Agent.Model.Script) != "demo.yaml" || m.Agent.Kind != Builtin {
			t.Errorf("%s has agent %+v", m.Name, m.Agent)
		}
	}
}

// TestJSONSpec reads a spec in JSON, with all that JSON may hold.
func TestJSONSpec(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n"})
	spec := "{\n\t\"covey\": 1,\n\t\"goal\": \"a\\/b \\ud83d\\ude00 \\u00e9: \\\"x\\\"\",\n" +
		"\t\"lead\": {\"model\": {\"provider\": \"script\", \"script\": \"demo.yaml\"}, \"limits\": {\"max_budget_usd\": 1e1}},\n" +
		"\t\"teammates\": {},\"tasks\":[],\"keep\":false\n}"
	team, err := Parse(filepath.Join(dir, "team.json"), []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	if want := "a/b 😀 é: \"x\""; team.Goal != want {
		t.Errorf("goal %q, want %q", team.Goal, want)
	}
	if team.Lead.Limits.MaxBudgetUSD != 10 {
		t.Errorf("limits %+v", team.Lead.Limits)
	}
}

// TestOneTextInManyForms parses the same spec as editors of all kinds save it.
func TestOneTextInManyForms(t *testing.T) {
	spec := "covey: 1\ngoal: |\n  Ship it.\n  Now.\nlead: {model: {provider: script, script: demo.yaml}}\n"
	forms := map[string]string{
		"plain":       spec,
		"byte order":  "\ufeff" + spec,
		"CRLF":        strings.ReplaceAll(spec, "\n", "\r\n"),
		"CR":          strings.ReplaceAll(spec, "\n", "\r"),
		"start mark":  "---\n" + spec,
		"end mark":    spec + "...\n",
		"comments":    "# one\n---\n# two\n" + spec + "# three\n",
		"no last end": strings.TrimSuffix(spec, "\n"),
	}
	for name, form := range forms {
		team, err := parse(t, form)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if team.Goal != "Ship it.\nNow.\n" {
			t.Errorf("%s: goal %q", name, team.Goal)
		}
	}
}

func TestDefaultName(t *testing.T) {
	for folder, want := range map[string]string{
		"My Project": "my-project", "x": "x", "__": "team", "operator": "team", "Ünïcode": "n-code",
		"a_very_long_folder_name_that_goes_on_and_on": "a-very-long-folder-name-that-goe",
	} {
		dir := filepath.Join(t.TempDir(), folder)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "s"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		team, err := Parse(filepath.Join(dir, "team.yaml"),
			[]byte("covey: 1\nlead: {model: {provider: script, script: s}}\n"))
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		if team.Name != want {
			t.Errorf("%s: name %q, want %q", folder, team.Name, want)
		}
		if team.Workspace != dir {
			t.Errorf("%s: workspace %q, want the spec's folder", folder, team.Workspace)
		}
	}
}

func TestLoadFails(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"big.yaml": strings.Repeat("#", yaml.MaxSize+1)})
	if _, err := Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "covey init") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "is a folder; name the spec file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Load(os.DevNull); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a device: %v", err)
	}
	var problems Errors
	if _, err := Load(filepath.Join(dir, "big.yaml")); !errors.As(err, &problems) ||
		!strings.Contains(err.Error(), "larger than 128 KiB") {
		t.Errorf("a large file: %v", err)
	}
}
