package launch

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestLoginCommand: the command exists where only the adapter is installed.
func TestLoginCommand(t *testing.T) {
	for _, tc := range []struct {
		preset preset
		there  string
		want   string
	}{
		{claude(), "claude npx", "claude /login"},
		{claude(), "claude-agent-acp npx", "npx @anthropic-ai/claude-code /login"},
		{codex(), "codex-acp npx", "npx @openai/codex login"},
		{codex(), "codex-acp", "codex login"}, // nothing better is known
		{copilot(), "npx", "copilot login"},
	} {
		got := tc.preset.loginCommand(func(name string) (string, error) {
			if slices.Contains(strings.Fields(tc.there), name) {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		})
		if got != tc.want {
			t.Errorf("%s with %s: %q, want %q", tc.preset.name, tc.there, got, tc.want)
		}
	}
}

// TestLoginState goes by files and variables that are there.
func TestLoginState(t *testing.T) {
	for _, tc := range []struct {
		preset preset
		env    map[string]string
		there  string
		want   LoginState
		by     string
	}{
		{codex(), map[string]string{"HOME": "/h"}, "/h/.codex/auth.json", LoginYes, "~/.codex/auth.json is there"},
		{codex(), map[string]string{"HOME": "/h", "CODEX_HOME": "/c"}, "/c/auth.json", LoginYes, "/c/auth.json is there"},
		{codex(), map[string]string{"HOME": "/h", "CODEX_HOME": "/c"}, "/h/.codex/auth.json", LoginNo, "there is no /c/auth.json"},
		{codex(), map[string]string{"HOME": "/h", "OPENAI_API_KEY": "k"}, "", LoginKey, "OPENAI_API_KEY is set"},
		{codex(), nil, "", LoginNo, "log in with `" + codex().loginCommand(LookPath) + "`"},
		{claude(), map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}, "", LoginYes, "CLAUDE_CODE_USE_BEDROCK is set"},
		{claude(), map[string]string{"CLAUDE_CODE_USE_BEDROCK": "0"}, "", LoginUnknown, "it may keep its login elsewhere"},
		{claude(), map[string]string{"ANTHROPIC_BASE_URL": "u", "ANTHROPIC_API_KEY": "k"}, "", LoginKey, "ANTHROPIC_API_KEY is set"},
		{gemini(), map[string]string{"HOME": "/h"}, "", LoginUnknown, "it may keep its login elsewhere"},
		{copilot(), map[string]string{"HOME": "/h"}, "", LoginUnknown, "where covey does not look"},
		{keyOnly(), nil, "", LoginNo, "no login of its own; set ACME_API_KEY and write `auth: key`"},
		{keyOnly(), map[string]string{"ACME_API_KEY": "k"}, "", LoginKey, "ACME_API_KEY is set"},
	} {
		state, by := tc.preset.loginState(func(name string) string { return tc.env[name] },
			func(path string) bool { return path == filepath.FromSlash(tc.there) })
		if runtime.GOOS == "darwin" && tc.want == LoginNo {
			continue // there is a keychain
		}
		if state != tc.want || !strings.Contains(by, tc.by) {
			t.Errorf("%s with %v and %q: %s (%s), want %s (%s)", tc.preset.name, tc.env, tc.there, state, by, tc.want, tc.by)
		}
	}
}

// TestKeyOf: who is to correct a key is not told to log in.
func TestKeyOf(t *testing.T) {
	t.Setenv("COPILOT_PROVIDER_BASE_URL", "")
	t.Setenv("COPILOT_PROVIDER_API_KEY", "")
	t.Setenv("CODEX_API_KEY", "k")
	copilot := configs.Agent{Preset: configs.Copilot, Auth: configs.Login}
	if got := KeyOf(copilot); got != "" {
		t.Errorf("with a login: %q", got)
	}
	t.Setenv("COPILOT_PROVIDER_BASE_URL", "http://localhost:1")
	for want, a := range map[string]configs.Agent{
		"COPILOT_PROVIDER_BASE_URL": copilot,
		"CODEX_API_KEY":             {Preset: configs.Codex, Auth: configs.Key},
		"MY_KEY":                    {Preset: configs.Codex, Auth: configs.Key, KeyVar: "MY_KEY"},
		"/key":                      {Preset: configs.Codex, Auth: configs.Key, KeyVar: "MY_KEY", KeyFile: "/key"},
		"its key":                   {Auth: configs.Key},
	} {
		if got := KeyOf(a); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}

// TestOlder: only the version of the measured program counts.
func TestOlder(t *testing.T) {
	measured := Found{program: qwen().programs[0]}
	measured.program.honours.Version = "qwen-code 0.24.4"
	for version, want := range map[string]bool{
		"0.15.10": true, "0.24.3-beta.1": true, "0.24.4": false, "0.24.10": false, "1.0": false, "": false,
	} {
		a := AgentInfo{Version: version, Path: "/bin/qwen", launch: measured}
		if older := a.Older(); (older != "") != want {
			t.Errorf("%q: %q", version, older)
		}
	}
	for _, a := range []AgentInfo{
		{Version: "0.1", Path: "/bin/wrapper", launch: measured},
		{Version: "0.1", Path: "/bin/own"},
	} {
		if older := a.Older(); older != "" {
			t.Errorf("%s: %q", a.Path, older)
		}
	}
}

// keyOnly returns a preset whose program knows no login but an API key.
func keyOnly() preset { return preset{name: "acme", keyVars: []string{"ACME_API_KEY"}} }

// TestKeyOnly: an agent whose program has no login needs `auth: key`. Its key is not taken
// away silently.
func TestKeyOnly(t *testing.T) {
	t.Setenv("ACME_API_KEY", "k")
	if !keyOnly().keyOnly() || claude().keyOnly() {
		t.Error("it is not known which programs have no login")
	}
	found := Found{preset: keyOnly()}
	want := "a: acme has no login of its own, only an API key; set ACME_API_KEY and write auth: key"
	if _, err := found.readKey(configs.Agent{Name: "a", Auth: configs.Login}); !errors.Is(err, configs.ErrSpec) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("auth: login: %v, want %q", err, want)
	}
	key, err := found.readKey(configs.Agent{Name: "a", Auth: configs.Key})
	if err != nil || key != (configs.EnvVar{Name: "ACME_API_KEY", Value: "k"}) {
		t.Errorf("auth: key: %v, %v", key.Name, err)
	}
	for _, found := range []Found{{}, {preset: codex()}} { // a command of the spec, a preset with a login
		if key, err := found.readKey(configs.Agent{Name: "a", Auth: configs.Login}); err != nil || key.Name != "" {
			t.Errorf("%q: %v, %v", found.preset.name, key.Name, err)
		}
	}
}

// TestVersionOf: a program that hangs is not waited for longer than its time,
// with all that it has started.
func TestVersionOf(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs are shell scripts here")
	}
	program := func(text string) string {
		path := filepath.Join(t.TempDir(), "program")
		if err := testkit.WriteProgram(path, []byte("#!/bin/sh\n"+text)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for text, want := range map[string]string{
		"echo 'fake version 1.22.3-beta.1 (abc)'": "1.22.3-beta.1",
		"echo v2.0":                  "2.0",
		"echo no number":             "",
		"echo 1.2.3; exit 1":         "",
		`[ -z "$(ls)" ] && echo 3.4`: "3.4", // the folder is empty
	} {
		if got := versionOf(t.Context(), program(text)); got != want {
			t.Errorf("%s: version %q, want %q", text, got, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if got := versionOf(ctx, program("sleep 600 & sleep 600")); got != "" || time.Since(began) > time.Minute {
		t.Errorf("a program that hangs: %q after %v", got, time.Since(began))
	}
}

// TestAgents: agents of a spec come with their members; one of a name that
// nobody has is shown as not installed.
func TestAgents(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	mine := configs.Agent{Name: "mine", Kind: configs.ACP, Command: []string{"no-such-program"}}
	team := &configs.Team{
		Workspace: t.TempDir(), Agents: map[string]configs.Agent{"mine": mine},
		Lead:      configs.Member{Name: "lead", Agent: configs.Agent{Kind: configs.Builtin}},
		Teammates: []configs.Member{{Name: "api", Agent: mine}},
	}
	list := Agents(t.Context(), team)
	if want := len(configs.Presets()) + 2; len(list) != want || list[0].Name != "builtin" || !list[0].Installed() || list[0].Members[0] != "lead" {
		t.Fatalf("%d agents, want %d: %+v", len(list), want, list)
	}
	last := list[len(list)-1]
	if last.Name != "mine" || !last.Spec || last.Installed() || len(last.Members) != 1 || last.Members[0] != "api" {
		t.Errorf("the spec's agent is %+v", last)
	}
	if p := last.Probe(t.Context()); p.Ready || !strings.Contains(p.Problem, "not installed") {
		t.Errorf("probed %+v", p)
	}
	if found := InstalledPresets(); len(found) != 0 {
		t.Errorf("found %+v on an empty PATH", found)
	}
}
