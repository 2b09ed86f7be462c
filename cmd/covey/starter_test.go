package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/doctor"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
)

// start writes the result of Make for dir and loads it.
func start(t *testing.T, dir string) (*configs.Team, string) {
	t.Helper()
	spec, files, err := makeStarter(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Errorf("files %v", files)
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil || !filepath.IsLocal(name) {
			t.Errorf("%s would be overwritten", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	team, err := configs.Parse(filepath.Join(dir, "team.yaml"), spec)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, spec)
	}
	if len(team.Warnings) != 0 {
		t.Errorf("warnings %v", team.Warnings)
	}
	return team, string(spec)
}

// onPath sets PATH so that only programs with these names are installed.
func onPath(t *testing.T, names ...string) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
}

// TestStarter finds the test command of projects of all kinds.
func TestStarter(t *testing.T) {
	onPath(t, "go", "npm", "pnpm", "yarn", "make", "python3")
	goMod := "module x\n"
	tests := map[string]struct {
		files map[string]string
		gate  string // of tasks; empty: none
		says  string
	}{
		"nothing":           {nil, "", "\n  # your test command, before a task is completed\n  # task: [make test]\n"},
		"go":                {map[string]string{"go.mod": goMod, "a/b.go": "package a\n"}, "go test ./...", "found by go.mod"},
		"go without code":   {map[string]string{"go.mod": goMod, "vendor/v/v.go": "package v\n", ".x/x.go": "package x\n"}, "", ""},
		"go of others":      {map[string]string{"go.mod": goMod, "sub/go.mod": goMod, "sub/x.go": "package x\n"}, "", ""},
		"make before go":    {map[string]string{"go.mod": goMod, "a.go": "package a\n", "Makefile": "all:\n\ntest: all\n\tgo test\n"}, "make test", "found by Makefile"},
		"make without test": {map[string]string{"Makefile": "tests:\nTEST := x\ntest := y\n"}, "", ""},
		"npm":               {map[string]string{"package.json": `{"scripts": {"test": "jest"}}`}, "npm test", ""},
		"pnpm":              {map[string]string{"package.json": `{"scripts": {"test": "jest"}}`, "pnpm-lock.yaml": ""}, "pnpm test", ""},
		"yarn":              {map[string]string{"package.json": `{"scripts": {"test": "jest"}}`, "yarn.lock": ""}, "yarn test", ""},
		"npm's own": {map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`},
			"", ""},
		"no test script": {map[string]string{"package.json": `{"name": "x"}`}, "", ""},
		"broken json":    {map[string]string{"package.json": `{`}, "", ""},
		"python":         {map[string]string{"pyproject.toml": "[project]\n", "test_a.py": ""}, "python3 -m pytest -q", "found by pyproject.toml"},
		"not installed":  {map[string]string{"Cargo.toml": "[package]\n"}, "", "\n  # found by Cargo.toml, but cargo is not installed here\n  # task: [cargo test]\n"},
		"a folder":       {map[string]string{"go.mod/x": "", "package.json": `{"scripts": {"test": "x"}}`}, "npm test", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			team, spec := start(t, testkit.Files(t, test.files))
			gate := ""
			if groups := team.Gates[hooks.TaskCompleted]; len(groups) > 0 {
				gate = groups[0].Hooks[0].Command
			}
			if gate != test.gate {
				t.Errorf("the gate of tasks is %q, want %q in\n%s", gate, test.gate, spec)
			}
			if !strings.Contains(spec, test.says) {
				t.Errorf("the spec lacks %q:\n%s", test.says, spec)
			}
			if h := team.Gates[hooks.TeammateIdle][0].Hooks[0]; h.Policy != "no-open-tasks" {
				t.Errorf("idle gate %+v", h)
			}
		})
	}
}

// TestFoundCommand: the spec says what the command needs and is not installed.
func TestFoundCommand(t *testing.T) {
	onPath(t, "go")
	for name, test := range map[string]struct {
		files map[string]string
		want  string
		lacks string
	}{
		"go":            {map[string]string{"go.mod": "module x\n", "a.go": "package x\n"}, "go test ./...", ""},
		"not installed": {map[string]string{"Cargo.toml": ""}, "cargo test", "cargo"},
		"nothing":       {nil, "", ""},
	} {
		if got := doctor.FindTest(t.Context(), testkit.Files(t, test.files)); got.Command != test.want || got.Missing != test.lacks {
			t.Errorf("%s: %+v, want %q without %q", name, got, test.want, test.lacks)
		}
	}
}

// TestPythonStarter: a command that cannot run here is a comment in the spec, and the other
// command runs.
func TestPythonStarter(t *testing.T) {
	bin := testkit.Files(t, map[string]string{"python3": "#!/bin/sh\nexit 1\n"}) // without pytest
	if err := os.Chmod(filepath.Join(bin, "python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	_, spec := start(t, testkit.Files(t, map[string]string{"setup.py": "", "test_a.py": "def test_it(): pass\n"}))
	if want := "\n  # found by setup.py, but pytest is not installed here\n  # task: [python3 -m pytest -q]\n"; !strings.Contains(spec, want) {
		t.Errorf("the spec lacks %q:\n%s", want, spec)
	}
	_, spec = start(t, testkit.Files(t, map[string]string{"setup.py": "", "t/test_a.py": "import unittest\n"}))
	if want := "\n  task: [{run: python3 -m unittest discover -s t, tests: true}]"; !strings.Contains(spec, want) {
		t.Errorf("the spec lacks %q:\n%s", want, spec)
	}
}

// TestStarterIsHonest: everything in the spec runs now, and it says what does not run yet.
func TestStarterIsHonest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My Shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	team, spec := start(t, dir)
	if team.Name != "my-shop" {
		t.Errorf("name %q", team.Name)
	}
	for _, m := range team.Members() {
		if m.Agent.Model.Provider != configs.Script {
			t.Errorf("%s needs more than a script", m.Name)
		}
	}
	for _, want := range []string{"PROVIDER/MODEL", "covey up", "covey validate"} {
		if !strings.Contains(spec, want) {
			t.Errorf("the spec lacks %q", want)
		}
	}
	tidy(t, spec)
}

// TestStarterWith makes teams of agent programs; each spec must load without a warning
// and name only files that exist.
func TestStarterWith(t *testing.T) {
	onPath(t, "go")
	goFiles := map[string]string{"go.mod": "module x\n", "a.go": "package x\n"}
	for name, test := range map[string]struct {
		files  map[string]string
		agents []starterAgent
		want   string // members with their agents
		says   string
	}{
		"one": {nil, []starterAgent{"claude"}, "lead=claude builder=claude", "  # your test command, before a task is completed\n  # task: [make test]\n"},
		"two": {goFiles, []starterAgent{"codex", "gemini"}, "lead=codex builder=gemini", "  # before a task is completed; found by go.mod\n" +
			"  # tests: true looks for changes of finished work that the tests do not notice\n  task: [{run: go test ./..., tests: true}]\n"},
		"all":       {goFiles, []starterAgent{"claude", "codex", "gemini", "opencode", "copilot", "qwen"}, "lead=claude builder=codex reviewer=gemini opencode-3=opencode copilot-4=copilot qwen-5=qwen", ""},
		"same":      {nil, []starterAgent{"qwen", "qwen", "qwen", "qwen", "qwen"}, "lead=qwen builder=qwen reviewer=qwen qwen-3=qwen qwen-4=qwen", ""},
		"no cargo":  {map[string]string{"Cargo.toml": ""}, []starterAgent{"codex"}, "lead=codex builder=codex", "cargo is not installed"},
		"many more": {nil, []starterAgent{"claude", "opencode", "copilot"}, "lead=claude builder=opencode reviewer=copilot", "auth: key"},
		"a model":   {goFiles, []starterAgent{"ollama/qwen3:8b"}, "lead=ollama/qwen3:8b builder=ollama/qwen3:8b", "covey models"},
		"mixed": {nil, []starterAgent{"codex", "anthropic/m", "openai/m", "openai/n"},
			"lead=codex builder=anthropic/m reviewer=openai/m helper-3=openai/n", "auth: key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := testkit.Files(t, test.files)
			spec, files, err := makeStarter(t.Context(), dir, test.agents)
			if err != nil || files == nil || len(files) != 0 {
				t.Fatalf("files %v, error %v", files, err)
			}
			team, err := configs.Parse(filepath.Join(dir, "team.yaml"), spec)
			if err != nil || len(team.Warnings) != 0 {
				t.Fatalf("%v, warnings %v in\n%s", err, team, spec)
			}
			var got []string
			for _, m := range team.Members() {
				name := string(m.Agent.Preset)
				if name == "" {
					name = m.Agent.Model.FullName()
				}
				got = append(got, m.Name+"="+name)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("members %v, want %s", got, test.want)
			}
			if gates := team.Gates[hooks.TaskCompleted]; (len(gates) == 1) != (test.files["go.mod"] != "") {
				t.Errorf("gates %+v", gates)
			}
			if allow := team.Lead.Permissions.Allow; test.files["go.mod"] != "" && (len(allow) != 1 || allow[0] != "Bash(go test ./...)") {
				t.Errorf("the tests may not be run: %v", allow)
			}
			if !strings.Contains(string(spec), test.says) {
				t.Errorf("the spec lacks %q:\n%s", test.says, spec)
			}
			tidy(t, string(spec))
			uncommented(t, dir, string(spec))
		})
	}
}

// TestStarterWithKeys: a program without a login gets `auth: key`, whoever leads.
func TestStarterWithKeys(t *testing.T) {
	for _, lead := range []starterAgent{"codex", "openai/m"} {
		s := starter{Name: "x", Lead: lead, Mates: []starterMate{{"builder", "codex", "builds"}}, Keyed: []starterAgent{"codex"}}
		out, err := s.fill("agents.yaml")
		if err != nil {
			t.Fatal(err)
		}
		team, err := configs.Parse(filepath.Join(t.TempDir(), "team.yaml"), out["agents.yaml"])
		if err != nil || team.Teammates[0].Agent.Auth != configs.Key {
			t.Errorf("%v in\n%s", err, out["agents.yaml"])
		}
		tidy(t, string(out["agents.yaml"]))
	}
}

// uncommented returns the spec with its commented examples enabled.
func uncommented(t *testing.T, dir, spec string) {
	t.Helper()
	for _, start := range []string{"# agents:\n", "# models:\n", "# tasks:\n"} {
		from := strings.Index(spec, start)
		if from < 0 {
			continue
		}
		end := from + strings.Index(spec[from:], "\n\n")
		spec = spec[:from] + strings.ReplaceAll("\n"+spec[from:end], "\n# ", "\n") + spec[end:]
	}
	team, err := configs.Parse(filepath.Join(dir, "team.yaml"), []byte(spec))
	if err != nil || len(team.Agents)+len(team.Models) != 1 || len(team.Tasks) != 2 || len(team.Warnings) != 0 {
		t.Errorf("the examples in comments: %v in\n%s", err, spec)
	}
}

// tidy finds lines that are too long, and trailing blanks.
func tidy(t *testing.T, spec string) {
	t.Helper()
	if strings.HasSuffix(spec, "\n\n") || !strings.HasSuffix(spec, "\n") {
		t.Errorf("the end is untidy:\n%s", spec)
	}
	for i, line := range strings.Split(spec, "\n") {
		if len(line) > 110 || strings.TrimRight(line, " ") != line || strings.Contains(line, "\t") {
			t.Errorf("line %d is untidy: %q", i+1, line)
		}
	}
}

func TestStarterWithFails(t *testing.T) {
	if _, _, err := makeStarter(t.Context(), t.TempDir(), []starterAgent{"claude", "cursor"}); err == nil ||
		!strings.Contains(err.Error(), `no preset "cursor"; name one of claude, codex`) {
		t.Errorf("an unknown preset: %v", err)
	}
	if _, _, err := makeStarter(t.Context(), t.TempDir(), []starterAgent{"acme/m"}); err == nil ||
		!strings.Contains(err.Error(), `no model "acme/m"; name one as anthropic/NAME`) {
		t.Errorf("an unknown provider: %v", err)
	}
}

// TestStarterNames: a folder's name may be something other than text in YAML.
func TestStarterNames(t *testing.T) {
	for _, name := range []string{"001", "true", "null", "1e3", "0x1f", "2026-11-21", "y"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if team, _ := start(t, dir); team.Name != name {
			t.Errorf("%s becomes %s", name, team.Name)
		}
	}
}

// TestStarterFolder: scripts are written into no folder of the project.
func TestStarterFolder(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"scripts/build.sh": "make\n"})
	if got := freeFolder(dir); got != "covey-scripts" {
		t.Errorf("scripts go to %s, which the project has", got)
	}
	if got := freeFolder(t.TempDir()); got != "scripts" {
		t.Errorf("scripts go to %s", got)
	}
}

// TestStarterOverwritesNothing: existing scripts with the same names are kept.
func TestStarterOverwritesNothing(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"scripts/worker.yaml": "mine\n"})
	team, _ := start(t, dir)
	if want := filepath.Join(dir, "covey-scripts", "worker.yaml"); team.Teammates[0].Agent.Model.Script != want {
		t.Errorf("script %s, want %s", team.Teammates[0].Agent.Model.Script, want)
	}
}

func TestStarterFails(t *testing.T) {
	file := filepath.Join(testkit.Files(t, map[string]string{"file": ""}), "file")
	if _, _, err := makeStarter(t.Context(), file, nil); err == nil || !strings.Contains(err.Error(), "name a folder") {
		t.Errorf("a folder that is a file: %v", err)
	}
}
