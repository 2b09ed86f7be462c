package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestCommandFlaws looks at the programs of hooks: it complains only where it is
// sure.
func TestCommandFlaws(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"run.sh": {"#!/bin/sh\n", 0o755}, "text.sh": {"#!/bin/sh\n", 0o644}, "bare.sh": {"exit 0\n", 0o755},
		"crlf.sh": {"#!/bin/sh\r\nexit 0\r\n", 0o755}, "alien.sh": {"#!/opt/nosuch/lang -x\n", 0o755},
		"env.sh": {"#!/usr/bin/env -S nosuchlang -x\n", 0o755}, "binary": {"\x7fELF\x00", 0o755},
		"crlf.py": {"print(1)\r\n", 0o644}, "empty.sh": {"", 0o755}, "none.sh": {"#!\n", 0o755},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	command := func(line string) hooks.Handler { return hooks.Handler{Type: "command", Command: line} }
	program := func(name string) hooks.Handler {
		return hooks.Handler{Type: "command", Command: name, Args: []string{"x y", "${UNKNOWN}"}}
	}
	for _, tc := range []struct {
		name string
		hook hooks.Handler
		want string // part of the first flaw; empty: there is none
	}{
		{"there", command("./run.sh --fast"), ""},
		{"absolute", command(filepath.Join(dir, "run.sh")), ""},
		{"on the PATH", command("  sh -c true"), ""},
		{"not executable", command("./text.sh"), "./text.sh is not executable"},
		{"a folder", command("./folder"), "./folder is a folder"},
		{"not there", command("./gone.sh && true"), "./gone.sh is not there"},
		{"second of a pipe", command("cat | ./gone.sh"), "./gone.sh is not there"},
		{"handled if not there", command("surely-not-installed . | cat || true"), ""},
		{"a replacement for one that is there", command(": || ./gone.sh"), ""},
		{"perhaps never", command("test -e x && ./gone.sh"), ""},
		{"behind set", command("set -e; ./gone.sh"), "./gone.sh is not there"},
		{"behind an assignment of its own", command("X=1; ./gone.sh"), "./gone.sh is not there"},
		{"not on the PATH", command("surely-not-installed --x"), "surely-not-installed is not on the PATH"},
		{"exec form", program("./text.sh"), "./text.sh is not executable"},
		{"exec form with blanks", program("./no such program"), "./no such program is not there"},
		{"exec form of a variable", program("${UNKNOWN}/x"), ""},
		{"a known variable", command(`"$CLAUDE_PROJECT_DIR"/x.sh`), "/x.sh is not there"},
		{"a known variable in braces", command(`"${CLAUDE_PROJECT_DIR}/run.sh" a`), ""},
		{"a plugin's variable elsewhere", command(`${CLAUDE_PLUGIN_ROOT}/x.sh`), ""},
		{"an unknown variable", command(`"$SOME_DIR"/x.sh`), ""},
		{"a default", command(`${CLAUDE_PROJECT_DIR:-x}/x.sh`), ""},
		{"a substitution", command("$(pwd)/x.sh"), ""},
		{"a pattern", command("./*.gone"), ""},
		{"an assignment", command("A=1 ./gone.sh"), "./gone.sh is not there"},
		{"a subshell", command("(./gone.sh)"), "./gone.sh is not there"},
		{"behind another program", command("sh -c true; ./gone.sh"), "./gone.sh is not there"},
		{"a function", command("gone() { true; }; gone"), ""},
		{"perhaps the end", command("$X; ./gone.sh"), ""},
		{"another PATH", command("PATH=folder:$PATH; gone"), ""},
		{"a condition", command("if true; then ./gone.sh; fi"), ""},
		{"a builtin", command("[ -e x ] && exit 2"), ""},
		{"a builtin without a program", command("exit 3"), ""},
		{"no shell line", command("echo 'a"), "the shell cannot read it"},
		{"no first line", command("./bare.sh"), "no first line like #!/bin/sh: /bin/sh runs it"},
		{"no first line and no shell", program("./bare.sh"), "it cannot be run without a shell"},
		{"line ends of Windows", command("./crlf.sh"), "the line ends of Windows"},
		{"given to a shell", command("sh crlf.sh"), "the line ends of Windows"},
		{"given, not there", command("sh gone/x.sh 2>/dev/null"), "is to run"},
		{"an option first", command("sh -x gone.sh"), ""},
		{"an interpreter of its own", command("./alien.sh"), "needs /opt/nosuch/lang, which is not installed"},
		{"by env", command("./env.sh"), "needs nosuchlang, which is not installed"},
		{"none behind the mark", command("./none.sh"), "names no interpreter"},
		{"a program", command("./binary"), ""},
		{"empty", command("./empty.sh"), ""},
		{"another folder", hooks.Handler{Type: "command", Command: "./run.sh", Cwd: "folder"},
			"./run.sh is not there"},
		{"another language", hooks.Handler{Type: "command", Command: "&& x", Shell: "powershell"},
			"there is no pwsh"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := exec.LookPath("pwsh"); err == nil && tc.hook.Shell != "" {
				t.Skip("PowerShell is installed")
			}
			got := ""
			for _, f := range newCommandCheck(runner.Configured{Handler: tc.hook}, dir).flaws() {
				if f.wayOut == "" {
					t.Errorf("%q comes without a way out", f.text)
				}
				got += f.text + "\n"
			}
			if !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestMatcherFlaw: a matcher that can never match is told of, and one that might
// is left alone.
func TestMatcherFlaw(t *testing.T) {
	infos := map[hooks.Event]hooks.EventInfo{}
	for _, info := range hooks.Events() {
		infos[info.Event] = info
	}
	for _, tc := range []struct {
		event   hooks.Event
		matcher string
		wayOut  string // part of it; empty: nothing is wrong
		mild    bool
	}{
		{hooks.PreToolUse, "", "", false},
		{hooks.PreToolUse, " * ", "", false},
		{hooks.PreToolUse, "Bash|Write, Edit", "", false},
		{hooks.PreToolUse, "bash", "write Bash", false},
		{hooks.PreToolUse, "Bash|Wirte", "write Write", false},
		{hooks.PreToolUse, "MyVeryOwnThing", "leave it", true},
		{hooks.PreToolUse, "mcp__github__push", "", false},
		{hooks.PreToolUse, "mcp__.*", "", false},
		{hooks.PreToolUse, "Edit|Write$", "", false},
		{hooks.PreToolUse, "^(Bash|Edit)$", "", false},
		{hooks.PreToolUse, ".*", "", false},
		{hooks.PreToolUse, "^bash$", "write Bash", false},
		{hooks.PreToolUse, "Bash(git *)", "`if: Bash(git *)`", false},
		{hooks.PreToolUse, "^zzz+$", "write a name such as", false},
		{hooks.SessionStart, "beginning", "write one of: startup", false},
		{hooks.SessionStart, "startup|resumed", "write resume", false},
		{hooks.Stop, "Bash", "delete the matcher", true},
		{hooks.Stop, "", "", false},
		{hooks.FileChanged, "go.mod|.envrc", "", false},
		{hooks.SubagentStop, "reviewer", "", false},
		{hooks.StopFailure, "rate_limit|overload", "write overloaded", false},
	} {
		got := matcherFlaw(infos[tc.event], tc.matcher)
		if !strings.Contains(got.wayOut, tc.wayOut) || (got.text == "") != (tc.wayOut == "") ||
			got.mild != tc.mild {
			t.Errorf("%s %q: %+v, want %q", tc.event, tc.matcher, got, tc.wayOut)
		}
	}
}

// TestIndexLines finds the lines of values in the forms that hooks stand in.
func TestIndexLines(t *testing.T) {
	dir := t.TempDir()
	jsonText := "{\n\t\"hooks\": {\"Stop\": [\n{\"hooks\": [\n{\"type\": \"command\",\n\"command\": \"./a\"},\n" +
		"{\"command\": \"./a\"}]}],\n\"Setup\": [{\"hooks\": [{\"command\": \"./a\"}]}]}}"
	yamlText := "hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: ./a\n        - {command: ./a}\n" +
		"  Setup:\n    - hooks: [{command: ./a}]\n"
	for name, tc := range map[string]struct {
		text                 string
		first, second, setup int
		field                int // of hooks.Stop[0].hooks[0].type
	}{
		"a.json": {jsonText, 5, 6, 7, 4},
		"b.yaml": {yamlText, 5, 6, 8, 4},
		"c.md":   {"---\n" + yamlText + "---\ncommand: ./a\n", 6, 7, 9, 5},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		x := indexLines(path)
		got := []int{x.of("./a", "Stop", 0), x.of("./a", "Stop", 1), x.of("./a", "Setup", 0),
			x.at("hooks.Stop[0].hooks[0].type")}
		if want := []int{tc.first, tc.second, tc.setup, tc.field}; !slices.Equal(got, want) {
			t.Errorf("%s: lines %v, want %v", name, got, want)
		}
		if x.of("./gone", "Stop", 0) != 0 || x.at("nothing[3].here") != 0 ||
			x.at("hooks.Stop[0].nothing") != x.at("hooks.Stop[0]") {
			t.Errorf("%s: lines of what is not there", name)
		}
	}
	for name, text := range map[string]string{"d.json": `{"a": [1, {"b": "./a"`, "e.yaml": "a: [1", "f.md": "no head", "g.toml": "a = 1"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		indexLines(path) // it does not matter what is found, but that it ends
	}
	if x := indexLines(filepath.Join(dir, "gone.json")); len(x.paths) != 0 {
		t.Errorf("of no file: %v", x.paths)
	}
}

func TestTryWrite(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ path, used string }{
		{dir, dir}, {filepath.Join(dir, "a", "b", "c"), dir},
	} {
		used, err := tryWrite(tc.path)
		if err != nil || used != tc.used {
			t.Errorf("tryWrite(%s) used %s (%v), want %s", tc.path, used, err, tc.used)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryWrite(file); err == nil {
		t.Error("a file was taken for a folder")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}

func TestMakeFolders(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	made, err := makeFolders(deep)
	if err != nil || len(made) != 2 || made[0] != deep {
		t.Fatalf("made %v (%v)", made, err)
	}
	if again, err := makeFolders(deep); err != nil || len(again) != 0 {
		t.Errorf("made %v again (%v)", again, err)
	}
	for _, folder := range made {
		if err := os.Remove(folder); err != nil {
			t.Error(err)
		}
	}
}

func TestTryListen(t *testing.T) {
	dir := t.TempDir()
	if err := tryListen(filepath.Join(dir, "s")); err != nil {
		t.Error(err)
	}
	if err := tryListen(filepath.Join(dir, strings.Repeat("long", 40))); err == nil {
		t.Error("a path that no socket can have was taken")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}

func TestFreeSpace(t *testing.T) {
	dir := t.TempDir()
	here, err := diskFree(existing(dir))
	if err != nil || here <= 0 {
		t.Errorf("%d bytes free (%v)", here, err)
	}
	if _, err := diskFree(existing(filepath.Join(dir, "not", "there"))); err != nil {
		t.Errorf("below a folder that is not there: %v", err)
	}
}

// TestShow: warnings do not fail an examination, failures do.
func TestShow(t *testing.T) {
	for _, tc := range []struct {
		findings []finding
		want     int
	}{
		{nil, cli.ExitDone},
		{[]finding{ok("a", "fine"), warn("b", "hm", "look")}, cli.ExitDone},
		{[]finding{ok("a", "fine"), fail("b", "no", "do"), warn("c", "hm", "look")}, cli.ExitFailed},
	} {
		screen, _ := teamtest.Screen()
		if err := show(screen, tc.findings, false); cli.ExitCode(err) != tc.want || !cli.WasSaid(err) {
			t.Errorf("show(%v) = %v", tc.findings, err)
		}
	}
}

func TestPrintFindings(t *testing.T) {
	screen, out := teamtest.Screen()
	printFindings(screen, []finding{ok("disk", "%d GiB", 7), fail("socket", "no\nsocket\x1b[1m", "use another")})
	want := "ok    disk        7 GiB\n" +
		"fail  socket      no socket\\x1b[1m\n" +
		"                  → use another\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
