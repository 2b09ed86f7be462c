package settings

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestOtherHosts: files of Codex, VS Code and Copilot give the same hooks as Claude
// Code's own.
func TestOtherHosts(t *testing.T) {
	want := hooks.Settings{
		hooks.PreToolUse: {{Matcher: "Bash", Hooks: []hooks.Handler{{Type: "command", Command: "guard", Timeout: 5}}}},
		hooks.Stop:       {{Hooks: []hooks.Handler{{Type: "command", Command: "done", Timeout: 600}}}},
	}
	for name, text := range map[string]string{
		"claude.json": `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard",
			"timeout": 5}]}], "Stop": [{"hooks": [{"type": "command", "command": "done", "timeout": 600}]}]}}`,
		"codex.toml": "model = \"x\"\npermissions = 3\n[hooks.state.\"a\"]\nhash = \"b\"\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n" +
			"[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"guard\"\ncommand_windows = \"guard.exe\"\n" +
			"timeout = 5\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"done\"\ntimeout = 600\n",
		"copilot.json": `{"version": 1, "hooks": {"preToolUse": [{"matcher": "Bash", "hooks": [{"type": "command",
			"command": "guard", "timeoutSec": 5}]}], "agentStop": [{"type": "command", "command": "done", "timeout": 600}]}}`,
	} {
		file, warnings := Parse(name, []byte(text))
		for _, groups := range file.Hooks {
			for i := range groups {
				groups[i].Hooks[0].Dialect = hooks.Dialect{} // TestWire is about it
			}
		}
		if len(warnings) != 0 || !reflect.DeepEqual(file.Hooks, want) {
			t.Errorf("%s: %+v, %v", name, file.Hooks, warnings)
		}
	}
}

// TestBareHooks: a hook without a group runs on everything, with the folder and the
// variables that it names.
func TestBareHooks(t *testing.T) {
	file, warnings := Parse("f", []byte(`{"hooks": {"PostToolUse": [
		{"type": "command", "command": "fmt", "cwd": "web", "env": {"A": "b"}},
		{"type": "command", "windows": "w", "linux": "l", "osx": "m"},
		{"type": "comand"}, {"matcher": "x"}, {"type": "command", "command": "c", "env": {"A": 7}}]}}`))
	got := file.Hooks[hooks.PostToolUse]
	if len(got) != 2 || got[0].Matcher != "" || got[0].Hooks[0].Cwd != "web" || got[0].Hooks[0].Env["A"] != "b" {
		t.Errorf("%+v", got)
	}
	if h := got[1].Hooks[0]; !strings.Contains("wlm", h.Command) || h.Command == "" {
		t.Errorf("the command is %q", h.Command)
	}
	if len(warnings) < 3 {
		t.Errorf("warnings %v", warnings)
	}
}

// TestCommandFor: each system uses its own command, or else the one for all.
func TestCommandFor(t *testing.T) {
	all := forms{windows: "w", linux: "l", osx: "m", bash: "b", powershell: "p", timeoutSec: 3}
	shells := forms{bash: "b", powershell: "p"}
	for _, c := range []struct {
		system  string
		f       forms
		command string
		shell   string
	}{
		{"linux", all, "l", ""}, {"darwin", all, "m", ""}, {"windows", all, "w", ""}, {"plan9", all, "b", "bash"},
		{"linux", shells, "b", "bash"}, {"windows", shells, "p", "powershell"},
		{"linux", forms{windows: "w"}, "c", ""}, {"windows", forms{windows: "w"}, "w", ""},
	} {
		h := hooks.Handler{Command: "c"}
		if c.f.commandFor(c.system, &h); h.Command != c.command || h.Shell != c.shell {
			t.Errorf("%s: %q by %q, want %q by %q", c.system, h.Command, h.Shell, c.command, c.shell)
		}
	}
	h := hooks.Handler{Timeout: 7}
	if all.commandFor("linux", &h); h.Timeout != 7 {
		t.Errorf("timeoutSec replaces timeout: %v", h.Timeout)
	}
}

// TestNoCommandHere: a hook with commands for other systems only is left out, with a
// warning.
func TestNoCommandHere(t *testing.T) {
	r := settingsReader{name: "f"}
	h := hooks.Handler{Type: "command"}
	other := forms{windows: "w", linux: "l", osx: "m"}
	if other.apply(&r, "p", &h, ""); h.Command == "" {
		t.Skip("a system that is none of the three")
	}
	h = hooks.Handler{Type: "command"}
	if (&forms{}).apply(&r, "p", &h, ""); len(r.warnings) != 0 {
		t.Errorf("a hook without any command is told of twice: %v", r.warnings)
	}
}

// TestBrokenTOML: an invalid TOML file is treated like an invalid JSON file.
func TestBrokenTOML(t *testing.T) {
	for _, text := range []string{"[", "hooks = 3", "a = 1\na = 2"} {
		file, warnings := Parse("config.toml", []byte(text))
		if !file.Broken || len(warnings) != 1 || len(file.Hooks) != 0 {
			t.Errorf("%q: %+v, %v", text, file, warnings)
		}
	}
	if file, warnings := Parse("config.toml", []byte("model = 'x'")); file.Broken || len(warnings) != 0 {
		t.Errorf("without hooks: %+v, %v", file, warnings)
	}
}

// FuzzOtherHosts: no file of another host breaks the reader, and the hooks that it keeps
// can run.
func FuzzOtherHosts(f *testing.F) {
	f.Add("hooks.json", `{"hooks": {"preToolUse": [{"type": "command", "bash": "x", "timeoutSec": 1}]}}`)
	f.Add("config.toml", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\n")
	f.Add("config.toml", "[hooks]\nStop = [{type = 1, date = 1979-05-27, f = nan}]")
	f.Add("vscode.json", `{"hooks": {"Stop": [{"type": "command", "linux": "a", "env": {"": "x"}, "cwd": ""}]}}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		file, warnings := Parse(name, []byte(text))
		for _, problem := range Validate(file.Hooks) {
			if !problem.Odd {
				t.Fatalf("kept: %v", problem)
			}
		}
		if file.Broken && len(warnings) == 0 {
			t.Fatal("a broken file passes without a warning")
		}
	})
}
