package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestHookTrouble looks at the programs of hooks: it complains only where it is
// sure.
func TestHookTrouble(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "text.sh": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	command := func(line string) hooks.Handler { return hooks.Handler{Type: "command", Command: line} }
	exec := func(program string) hooks.Handler {
		return hooks.Handler{Type: "command", Command: program, Args: []string{"x y"}}
	}
	for _, tc := range []struct {
		name string
		hook hooks.Handler
		want string
	}{
		{"there", command("./run.sh --fast"), ""},
		{"absolute", command(filepath.Join(dir, "run.sh")), ""},
		{"on the PATH", command("  sh -c true"), ""},
		{"not executable", command("./text.sh"), "./text.sh is not executable"},
		{"a folder", command("./folder"), "./folder is a folder"},
		{"not there", command("./gone.sh && true"), "./gone.sh is not there"},
		{"not on the PATH", command("surely-not-installed --x"), "surely-not-installed is not on the PATH"},
		{"exec form", exec("./text.sh"), "./text.sh is not executable"},
		{"exec form with blanks", exec("./no such program"), "./no such program is not there"},
		{"a variable", command(`"$CLAUDE_PROJECT_DIR"/x.sh`), ""},
		{"an assignment", command("A=1 ./gone.sh"), ""},
		{"a subshell", command("(./gone.sh)"), ""},
		{"a builtin", command("[ -e x ] && exit 2"), ""},
		{"a builtin without a program", command("exit 3"), ""},
		{"a policy", hooks.Handler{Type: "command", Policy: "no-open-tasks"}, ""},
		{"another type", hooks.Handler{Type: "http", URL: "http://localhost/gone"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := hookTrouble(tc.hook, dir); got != tc.want {
				t.Errorf("hookTrouble = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestHookWayOut says what a broken gate and a broken hook do, which differs.
func TestHookWayOut(t *testing.T) {
	if got := hookWayOut(hooks.Handler{Gate: true}); !strings.Contains(got, "refuses") {
		t.Errorf("of a gate: %q", got)
	}
	if got := hookWayOut(hooks.Handler{}); !strings.Contains(got, "lets everything pass") {
		t.Errorf("of a hook: %q", got)
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
	here, err := freeSpace(dir)
	if err != nil || here <= 0 {
		t.Errorf("%d bytes free (%v)", here, err)
	}
	if _, err := freeSpace(filepath.Join(dir, "not", "there")); err != nil {
		t.Errorf("below a folder that is not there: %v", err)
	}
}

// TestWorst: warnings do not fail an examination, failures do.
func TestWorst(t *testing.T) {
	for _, tc := range []struct {
		findings []finding
		want     int
	}{
		{nil, exitDone},
		{[]finding{ok("a", "fine"), warn("b", "hm", "look")}, exitDone},
		{[]finding{ok("a", "fine"), fail("b", "no", "do"), warn("c", "hm", "look")}, exitFailed},
	} {
		if err := worst(tc.findings); exitCode(err) != tc.want || !wasSaid(err) {
			t.Errorf("worst(%v) = %v", tc.findings, err)
		}
	}
}

func TestPrintFindings(t *testing.T) {
	c, out, _ := printer()
	c.printFindings([]finding{ok("disk", "%d GiB", 7), fail("socket", "no\nsocket\x1b[1m", "use another")})
	want := "ok    disk        7 GiB\n" +
		"fail  socket      no socket\\x1b[1m\n" +
		"                  → use another\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
