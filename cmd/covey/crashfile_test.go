//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/hooks/testkit"
)

// crasher is a program that watches for its crash as covey does, and then panics, or is
// killed, in the goroutine that its argument names.
func crasher() {
	w := &cli.CrashWatch{What: "crasher\ndevel"} // as the version of covey has several lines
	w.Begin(true)
	defer w.Tell()
	switch os.Args[1] {
	case "main":
		panic("in main")
	case "other":
		go func() { panic("in another goroutine") }()
		testkit.Hang()
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		testkit.Hang()
	}
	w.End()
}

// crashHome runs programs in a state home of their own.
type crashHome struct {
	t    *testing.T
	home string
}

// run runs a program and returns what it printed on standard error.
func (h crashHome) run(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "COVEY_STATE_HOME="+h.home)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	_ = cmd.Run() // the test is about programs that fail
	return errOut.String()
}

// files are those in the folder of crashes.
func (h crashHome) files() []string {
	h.t.Helper()
	list, err := filepath.Glob(filepath.Join(h.home, "crashes", "*"))
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// TestCrashIsKept: the stack of a crash in any goroutine is in a file that one later command
// names, once. Nothing stays of processes that end or are killed.
func TestCrashIsKept(t *testing.T) {
	t.Parallel()
	for where, said := range map[string]string{"main": "in main", "other": "in another goroutine"} {
		h := crashHome{t, t.TempDir()}
		h.run("crasher", "end")
		h.run("crasher", "kill")
		killed := h.files()
		errOut := h.run("crasher", where)
		files := h.files()
		if len(killed) != 1 || len(files) != 2 {
			t.Fatalf("%s: files %v, then %v", where, killed, files)
		}
		// The names begin with process IDs, which do not sort by time.
		crash := slices.DeleteFunc(files, func(f string) bool { return f == killed[0] })[0]
		if told := "covey: covey has crashed; its stack is in " + crash; where == "main" &&
			!strings.Contains(errOut, told) {
			t.Errorf("%s: it says %s, want %s", where, errOut, told)
		}
		const named = "covey: an earlier covey has crashed; its stack is in "
		first, again := h.run("covey", "version"), h.run("covey", "version")
		if strings.Count(first, "\n") != 1 || !strings.HasPrefix(first, named) || again != "" {
			t.Errorf("%s: later commands say %q, then %q", where, first, again)
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(first, named), ";")
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), "crasher devel, begun 20") ||
			!strings.Contains(string(text), said) || !strings.Contains(string(text), ".crasher") {
			t.Errorf("%s: the file has %s, %v", where, text, err)
		}
		if left := h.files(); len(left) != 1 {
			t.Errorf("%s: left %v", where, left)
		}
	}
}

// TestCrashesAreToldToTheOperator: neither a member's command nor the completion of a shell
// uses up the news, and the files of many crashes do not pile up.
func TestCrashesAreToldToTheOperator(t *testing.T) {
	t.Parallel()
	h := crashHome{t, t.TempDir()}
	h.run("crasher", "other")
	for _, quiet := range [][]string{
		{"env", "COVEY_RUN=" + h.home, "covey", "version"}, {"covey", "__complete", "ps", ""},
	} {
		if said := h.run(quiet...); strings.Contains(said, "crashed") {
			t.Errorf("%v says %s", quiet, said)
		}
	}
	if said := h.run("covey", "version"); !strings.Contains(said, "an earlier covey has crashed") {
		t.Errorf("the operator is told %q", said)
	}
	for i := range 12 {
		old := filepath.Join(h.home, "crashes", "crash-2020010"+string(rune('a'+i))+".txt")
		if err := os.WriteFile(old, []byte("x\ny\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.run("covey", "version")
	if left := h.files(); len(left) != 10 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestNoStateForACrash: a command alone does not create a state home.
func TestNoStateForACrash(t *testing.T) {
	t.Parallel()
	h := crashHome{t, filepath.Join(t.TempDir(), "none")}
	if said := h.run("covey", "version"); said != "" {
		t.Errorf("it says %s", said)
	}
	if _, err := os.Stat(h.home); err == nil {
		t.Error("it created a state home")
	}
}
