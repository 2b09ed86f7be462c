package trust

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
)

// runsSpec names programs in every way that a spec has.
const runsSpec = `covey: 1
workspace: work
models: {demo: {provider: script, script: demo.yaml}}
agents:
  a: {model: {provider: script, script: agent.yaml}}
  rev: {use: acp, command: [./gate.sh, --acp, "a b"], env: {LD_PRELOAD: ./notes.txt, KEY: "x${HOME}${HOME}$$", DATA: notes.txt, TOOL: "./bin/tool:/bin/sh"}}
  once: {use: command, command: [node, -r, plain.sh, "{prompt}"], resume: [--resume, "{session}"], native_hooks: on}
  codex: {use: codex, model: demo, auth: {file: work/empty}}
lead: {model: {provider: script, script: lead.yaml}}
teammates: {x: {model: demo}, y: a, z: claude, rev: rev}
gates:
  task: [go test ./..., {run: ./gate.sh, timeout: 2m}, {policy: report-sent}]
  stop: ['"$CLAUDE_PROJECT_DIR"/../beside.sh']
hooks:
  Stop:
    - hooks:
        - {type: command, command: "sh plain.sh && test -f notes.txt"}
        - {type: command, command: bash, args: ["-x", plain.sh, "a b"]}
        - {type: command, command: "./gate.sh; ./gate.sh"}
settings: [settings.json]
`

// load loads the team.yaml of a folder with these files.
func load(t *testing.T, files map[string]string) (*configs.Team, string) {
	t.Helper()
	dir := testkit.Files(t, files)
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return team, dir
}

// runsTeam loads runsSpec. Only gates may be executed; shebang.sh says what
// runs it; plain.sh and notes.txt are just text.
func runsTeam(t *testing.T) (*configs.Team, string) {
	t.Helper()
	dir := testkit.Files(t, map[string]string{"team.yaml": runsSpec, "demo.yaml": "steps: []", "agent.yaml": "steps: []",
		"lead.yaml": "steps: []", "work/gate.sh": "exit 0\n", "work/plain.sh": "exit 0\n", "work/notes.txt": "notes\n",
		"work/shebang.sh": "#!/bin/sh\n", "work/bin/tool": "", "beside.sh": "#!/bin/sh\n", "work/empty": "", "outside.sh": "",
		"settings.json": `{"hooks": {"TaskCreated": [{"hooks": [{"type": "command", "command": "${CLAUDE_PROJECT_DIR}/shebang.sh x"}]}]}}`,
	})
	for _, name := range []string{"work/gate.sh", "beside.sh"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return team, dir
}

func TestOf(t *testing.T) {
	team, dir := runsTeam(t)
	at := func(path string) string { return filepath.Join(dir, path) }
	want := []Run{
		{Kind: Spec, Path: at("team.yaml")},
		{Kind: Script, Path: at("demo.yaml")},
		{Kind: Script, Path: at("agent.yaml")},
		{Kind: Agent, Command: "codex"},
		{Kind: Agent, Command: "node -r plain.sh {prompt} (to resume: --resume {session}) (with its own hooks)"},
		{Kind: RunFile, Path: at("work/plain.sh")},
		{Kind: Agent, Command: at("work/gate.sh") + ` --acp "a b"`},
		{Kind: RunFile, Path: at("work/gate.sh")},
		{Kind: Env, Command: "rev: LD_PRELOAD, KEY from $HOME, DATA, TOOL"},
		{Kind: RunFile, Path: at("work/notes.txt")},
		{Kind: RunFile, Path: at("work/bin/tool")},
		{Kind: Script, Path: at("lead.yaml")},
		{Kind: Agent, Command: "claude"},
		{Kind: Hook, Event: hooks.Stop, Command: "sh plain.sh && test -f notes.txt"},
		{Kind: Hook, Event: hooks.Stop, Command: `bash -x plain.sh "a b"`},
		{Kind: Hook, Event: hooks.Stop, Command: "./gate.sh; ./gate.sh"},
		{Kind: Gate, Event: hooks.Stop, Command: `"$CLAUDE_PROJECT_DIR"/../beside.sh`},
		{Kind: RunFile, Path: at("beside.sh")},
		{Kind: Gate, Event: hooks.TaskCompleted, Command: "go test ./..."},
		{Kind: Gate, Event: hooks.TaskCompleted, Command: "./gate.sh"},
		{Kind: Settings, Path: at("settings.json")},
		{Kind: Hook, Event: hooks.TaskCreated, Command: "${CLAUDE_PROJECT_DIR}/shebang.sh x"},
		{Kind: RunFile, Path: at("work/shebang.sh")},
	}
	got := RunsOf(team)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", show(got, dir), show(want, dir))
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if again := RunsOf(team); !reflect.DeepEqual(again, got) {
				t.Error("the order changes from call to call")
			}
		})
	}
	wg.Wait()
}

func show(runs []Run, dir string) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(strings.TrimSpace(string(r.Kind)+" "+string(r.Event)+" "+r.Command+" "+
			strings.TrimPrefix(r.Path, dir)) + "\n")
	}
	return b.String()
}

// TestRunsFollowSettings: a settings file that changes brings new commands.
func TestRunsFollowSettings(t *testing.T) {
	team, dir := runsTeam(t)
	before := len(RunsOf(team))
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if after := len(RunsOf(team)); after != before-2 {
		t.Errorf("%d runs after the hook and its file are gone, %d before", after, before)
	}
}

// TestPrograms looks for the workspace's own programs in command lines.
func TestPrograms(t *testing.T) {
	team, dir := runsTeam(t)
	for command, want := range map[string]string{
		"./gate.sh":                        "work/gate.sh",
		"gate.sh":                          "work/gate.sh",
		"'./gate.sh' --fast":               "work/gate.sh",
		"FOO=1 ./gate.sh|tee log":          "work/gate.sh",
		"cat notes.txt":                    "",
		"sh -e plain.sh":                   "work/plain.sh",
		". ./plain.sh":                     "work/plain.sh",
		"(cd . && sh ./plain.sh)":          "work/plain.sh",
		"x=$(sh plain.sh)":                 "work/plain.sh",
		"/usr/bin/python3.12 -u notes.txt": "work/notes.txt",
		"bash -c './gate.sh'":              "work/gate.sh",
		"./empty":                          "",
		"./missing.sh":                     "",
		"/bin/sh":                          "",
		"../../elsewhere.sh":               "",
		"sh ../outside.sh":                 "outside.sh",
		filepath.Join(dir, "work/gate.sh"): "work/gate.sh",
		".":                                "",
		"":                                 "",
	} {
		want := strings.Fields(want)
		got := team.Place().Line(command, "").Files
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+string(filepath.Separator))
		}
		if !reflect.DeepEqual(append([]string{}, got...), append([]string{}, want...)) {
			t.Errorf("%q brings %v, want %v", command, got, want)
		}
	}
}

// TestScriptsOfALine: what a command line runs is found however it is named; of what
// covey cannot tell, the folder that it lies in counts.
func TestScriptsOfALine(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"team.yaml": "", "w/gates/g.sh": "#!/bin/sh\n", "w/gates/plain.sh": "exit 0\n",
		"w/my gates/a b.sh": "#!/bin/sh\n", "w/x.py": "1\n", "w/lib/mod.py": "1\n", "w/p.awk": "1\n", "w/s.sed": "p\n", "w/data.txt": "1\n",
		"w/run.sh": "#!/bin/sh\n", "w/src/a.go": "package a\n", "w/Makefile": "all:\n"})
	team := &configs.Team{Workspace: filepath.Join(dir, "w"), File: filepath.Join(dir, "team.yaml")}
	for line, want := range map[string]string{
		`'./my gates/a b.sh'`:                             "my gates/a b.sh",
		`"my gates/a b.sh" --x`:                           "my gates/a b.sh",
		`my\ gates/a\ b.sh`:                               "my gates/a b.sh",
		"cd gates && ./g.sh":                              "gates/g.sh",
		"cd gates; sh plain.sh":                           "gates/plain.sh",
		"(cd 'my gates' && './a b.sh')":                   "my gates/a b.sh",
		"cd src && cd ../gates && ./g.sh":                 "gates/g.sh",
		`"$PWD/gates/g.sh"`:                               "gates/g.sh",
		`"$(pwd)"/gates/g.sh`:                             "gates/g.sh",
		`$COVEY_WORKSPACE/gates/g.sh x`:                   "gates/g.sh",
		`sh "${COVEY_WORKSPACE}/gates/plain.sh"`:          "gates/plain.sh",
		`${CLAUDE_PROJECT_DIR:-.}/gates/g.sh`:             "gates/g.sh",
		`"${X:-gates}/g.sh"`:                              "gates/g.sh",
		`D=gates; sh "$D/plain.sh"`:                       "gates/plain.sh",
		`D=gates sh -c '"$D"/g.sh'`:                       "gates/g.sh",
		"gates/*.sh":                                      "gates/g.sh",
		"sh gates/p*.sh":                                  "gates/plain.sh",
		`for g in gates/*.sh; do sh "$g" || exit 2; done`: "gates/g.sh gates/plain.sh",
		"python3 -X dev x.py":                             "x.py",
		"python3 -W ignore -u x.py data.txt":              "x.py",
		"python3 -m lib.mod":                              "lib/mod.py",
		"awk -f p.awk data.txt":                           "p.awk",
		"awk -v n=1 -f p.awk data.txt":                    "p.awk",
		"sed -n -f s.sed data.txt":                        "s.sed",
		"timeout 5 env A=b sh gates/plain.sh":             "gates/plain.sh",
		"bash -o pipefail gates/plain.sh":                 "gates/plain.sh",
		"sh <<EOF\ngates/g.sh\nEOF":                       "gates/g.sh",
		"./run.sh 'unclosed":                              "run.sh",
		"gates/$X.sh":                                     "gates/",
		`sh "gates/$X"`:                                   "gates/",
		`"my gates/$(cat data.txt)"`:                      "my gates/",
		"./$X.sh":                                         "run.sh",
		"cat gates/$X.txt":                                "",
		"$X/g.sh":                                         "",
		"go test ./...":                                   "",
		"go vet ./... && gofmt -l src/*.go":               "",
		"for f in src/*.go; do gofmt -l \"$f\"; done":     "",
		"awk '{print}' data.txt":                          "",
		"make test":                                       "",
		"python3 -m pytest":                               "",
	} {
		got := team.Place().Line(line, "")
		var names []string
		for _, path := range got.Files {
			names = append(names, strings.TrimPrefix(path, team.Workspace+"/"))
		}
		for _, path := range got.Folders {
			names = append(names, strings.TrimPrefix(path, team.Workspace+"/")+"/")
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%s brings %q, want %q", line, names, want)
		}
	}
	if got := team.Place().Words([]string{"python3", "-X", "dev", "${COVEY_WORKSPACE}/x.py"}, ""); len(got.Files) != 1 {
		t.Errorf("a program without a shell brings %q", got.Files)
	}
}

// hookedAgent is an agent file with hooks in its head.
const hookedAgent = `---
name: reviewer
hooks:
  PreToolUse:
    - hooks: [{type: command, command: ./look.sh}]
  Stop:
    - hooks: [{type: command, command: ./done.sh}]
---
You review.
`

// TestRunsOfHelpers: hooks in the file of a helper are listed, its Stop as that of a
// helper. Where no member can have helpers, agent files of the workspace are another
// program's matter, and nobody is asked to trust them.
func TestRunsOfHelpers(t *testing.T) {
	const demo = "covey: 1\nmodels: {demo: {provider: script, script: s.yaml}}\n"
	for spec, want := range map[string]string{
		demo + "lead: {model: demo}\n":                                 "head /.claude/agents/a.md|hook PreToolUse ./look.sh|hook SubagentStop ./done.sh",
		demo + "lead: {model: demo, tools: [Read]}\n":                  "",
		"covey: 1\nagents: {p: {use: acp, command: [cat]}}\nlead: p\n": "",
		// A plugin's folder is listed, so its agents are not.
		demo + "lead: {model: demo, tools: [Agent]}\nplugins: [p]\n": "head /.claude/agents/a.md|hook PreToolUse ./look.sh|hook SubagentStop ./done.sh",
		// An agent file without hooks is listed if it says where its member may write.
		demo + "lead: {model: demo, tools: [Read, Write], memory: on, prompt_file: m.md}\n":  "head /m.md",
		demo + "lead: {model: demo, tools: [Read, Write], memory: off, prompt_file: m.md}\n": "",
	} {
		team, dir := load(t, map[string]string{"team.yaml": spec, "s.yaml": "steps: []\n", ".claude/agents/a.md": hookedAgent,
			"p/agents/b.md": hookedAgent, "m.md": "---\nmemory: user\n---\nYou review.\n"})
		var got []Run
		for _, r := range RunsOf(team) {
			if r.Kind == Head || r.Kind == Hook {
				got = append(got, r)
			}
		}
		shown := strings.Join(strings.Fields(strings.ReplaceAll(show(got, dir), "\n", "| ")), " ")
		if shown = strings.TrimSuffix(strings.ReplaceAll(shown, "| ", "|"), "|"); shown != want {
			t.Errorf("%s lists %q, want %q", spec, shown, want)
		}
	}
}

// TestRunsOfFiles: a plugin's folder, heads of agent files that have hooks, and the
// spec's override are listed, with the commands that they bring.
func TestRunsOfFiles(t *testing.T) {
	const hook = `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "plugin"}]}]}}`
	team, dir := load(t, map[string]string{
		"team.yaml": "covey: 1\nlead: {model: {provider: script, script: s.yaml}, prompt_file: agents/lead.md}\n" +
			"settings: [config.toml]\nplugins: [plugins/x]\n",
		"team.override.yaml":                   "goal: g\n",
		"s.yaml":                               "steps: []\n",
		"config.toml":                          "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"toml\"\n",
		"plugins/x/.claude-plugin/plugin.json": `{"name": "x"}`,
		"plugins/x/hooks/hooks.json":           hook,
		"agents/lead.md":                       "---\nhooks:\n  Stop: [{hooks: [{type: command, command: head}]}]\n---\nLead.\n",
	})
	got := RunsOf(team)
	for _, want := range []Run{
		{Kind: Spec, Path: filepath.Join(dir, "team.override.yaml")},
		{Kind: Plugin, Path: filepath.Join(dir, "plugins/x")}, {Kind: Hook, Event: hooks.Stop, Command: "plugin"},
		{Kind: Head, Path: filepath.Join(dir, "agents/lead.md")}, {Kind: Hook, Event: hooks.Stop, Command: "head"},
		{Kind: Settings, Path: filepath.Join(dir, "config.toml")}, {Kind: Hook, Event: hooks.Stop, Command: "toml"},
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%+v is not listed: %+v", want, got)
		}
	}
}

// TestNoSecrets: variables are listed by their names and by where their values come from.
func TestNoSecrets(t *testing.T) {
	t.Setenv("TOKEN", "s3cr3t")
	team, _ := load(t, map[string]string{"secrets/token": "s3cr3t\n",
		"team.yaml": "covey: 1\nlead: prog\nagents: {prog: {use: command, command: [prog], " +
			"env: {KEY: \"${TOKEN}\", FILE: {file: secrets/token}, PORT: 1}}}\n"})
	shown, err := json.Marshal(RunsOf(team))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), "s3cr3t") || !strings.Contains(string(shown), "prog: KEY from $TOKEN, FILE from secrets/token, PORT") {
		t.Errorf("shown: %s", shown)
	}
}

// TestRunsOfServers: the command of an MCP server with what it names, its variables, and the URL of a
// server with its key are all to be trusted.
func TestRunsOfServers(t *testing.T) {
	team, dir := load(t, map[string]string{
		"team.yaml": `covey: 1
lead: {model: {provider: script, script: demo.yaml}}
mcp_servers:
  local: {command: [python3, tools/server.py, "a b"], env: {TOKEN: "x${HOME}", NODE_OPTIONS: "--require ./tools/hook.js"}}
  far: {url: "https://example.com/mcp", key_file: key}
`, "demo.yaml": "steps: []", "tools/server.py": "", "tools/hook.js": "", "key": "k",
	})
	want := []Run{
		{Kind: Server, Command: `local: python3 tools/server.py "a b"`}, {Kind: RunFile, Path: filepath.Join(dir, "tools/server.py")},
		{Kind: Env, Command: "local: TOKEN from $HOME, NODE_OPTIONS"}, {Kind: RunFile, Path: filepath.Join(dir, "tools/hook.js")},
		{Kind: Server, Command: "far: https://example.com/mcp with the key in " + filepath.Join(dir, "key")},
	}
	var have []Run
	for _, run := range RunsOf(team) {
		if run.Kind != Spec && run.Kind != Script {
			have = append(have, run)
		}
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("the team runs\n%v\nwant\n%v", have, want)
	}
}

// TestNotifyIsTrusted: where notices go, and where the links in them lead, is named.
func TestNotifyIsTrusted(t *testing.T) {
	team, dir := load(t, map[string]string{
		"team.yaml": `covey: 1
lead: {model: {provider: script, script: s.yaml}}
notify:
  - to: desktop
  - {to: {command: [sh, tell.sh, "a b"]}}
  - {to: {webhook: "https://example.com/x", secret_file: secret}}
web: {public_url: "https://covey.example.com"}
`, "s.yaml": "steps: []", "tell.sh": "cat\n", "secret": "0123456789abcdef",
	})
	want := []Run{
		{Kind: Notify, Command: `sh tell.sh "a b"`},
		{Kind: RunFile, Path: filepath.Join(dir, "tell.sh")},
		{Kind: Notify, Command: "https://example.com/x with the secret in " + filepath.Join(dir, "secret")},
		{Kind: Notify, Command: "links that answer questions, at https://covey.example.com"},
	}
	got := slices.DeleteFunc(RunsOf(team), func(r Run) bool { return r.Kind == Spec || r.Kind == Script })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
