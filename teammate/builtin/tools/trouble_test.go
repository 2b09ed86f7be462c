//go:build unix

package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Errors below the tools are reported to the model, and break nothing.
func TestTroubleWithTheFolderForOutputs(t *testing.T) {
	b := newBench(t, nil)
	b.ok("Bash", fields{"command": "true"})
	id := b.background("echo x")
	b.ended(id)
	out := b.tools.env.OutputDir
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	b.refuses("BashOutput", fields{"bash_id": id}, id+".output: no such file or directory")
	b.shows("Bash", fields{"command": "echo made again"}, "made again")
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	write(t, out, "a file is in its place")
	b.refuses("Bash", fields{"command": "true"}, "making the folder for outputs")
	// Read works without the folder, but cannot store that the file was read.
	b.write("f", "x")
	b.shows("Read", fields{"file_path": "f"}, "1\tx")
	b.ok("Write", fields{"file_path": "f", "content": "y"})
}

func TestTroubleBetweenTwoSteps(t *testing.T) {
	b := newBench(t, nil)
	gone := filepath.Join(t.TempDir(), "gone")
	b.tools.env.OutputDir = gone
	long := strings.Repeat("#", maxInline+1)
	for _, command := range []string{"true", long} {
		r := b.tools.foreground(t.Context(), bashInput{Command: command}, "")
		if !r.IsError || !strings.Contains(r.Content, "could not be prepared") {
			t.Errorf("a foreground command: %q", r.Content)
		}
	}
	r := b.tools.startRun(bashInput{Command: long}, "")
	if !r.IsError || !strings.Contains(r.Content, "could not be prepared") {
		t.Errorf("a long background command: %q", r.Content)
	}
	r = b.tools.startRun(bashInput{Command: "true"}, "")
	if !r.IsError || !strings.Contains(r.Content, "its output could not be kept: no such file") {
		t.Errorf("a background command: %q", r.Content)
	}
	if n := len(b.tools.Background()); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}

func TestABackgroundRunWithoutAShell(t *testing.T) {
	b := newBench(t, func(e *Env) { e.Started = func(int) func() { return nil } })
	b.ended(b.background("true"))
	b.tools.shell.path = "/nonexistent/bash"
	id := b.background("true")
	b.ended(id)
	got := b.ok("BashOutput", fields{"bash_id": id})
	if !strings.HasPrefix(got, "Status: failed, exit code 1 (it could not be started: ") {
		t.Errorf("got %q", got)
	}
}

func TestALongBackgroundCommand(t *testing.T) {
	b := newBench(t, nil)
	id := b.background("cat <<'X' | wc -c\n" + strings.Repeat("0123456789\n", 20_000) + "X")
	b.ended(id)
	b.shows("BashOutput", fields{"bash_id": id}, "Status: completed, exit code 0\n220000")
	if left, _ := filepath.Glob(filepath.Join(b.tools.env.OutputDir, "command-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Close may be called while a command runs in the foreground: the command ends as well,
// with all the processes that it has started and still starts.
func TestCloseWhileACommandRuns(t *testing.T) {
	b := newBench(t, nil)
	var running sync.WaitGroup
	var got agent.ToolResult
	running.Go(func() {
		got = b.call(t.Context(), "Bash", fields{"command": `(setsid sleep 300 >/dev/null 2>&1 & echo $! >pids)
			touch ready
			sleep 300`})
	})
	other := newBench(t, func(e *Env) { e.Workdir = b.wd })
	other.ok("Bash", fields{"command": "until [ -e ready ]; do sleep 0.01; done"})
	if err := b.tools.Close(); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	if !got.IsError || !strings.HasPrefix(got.Content, "Exit code 137") {
		t.Errorf("the command's result is %q", got.Content)
	}
	for _, pid := range pids(t, filepath.Join(b.root, "pids")) {
		b.waitDead(pid)
	}
}

func TestReadersThatFail(t *testing.T) {
	broken := errors.New("input/output error")
	text := strings.Repeat("some text\n", 2000)
	for name, r := range map[string]func() io.Reader{
		"at once": func() io.Reader { return iotest.ErrReader(broken) },
		"later":   func() io.Reader { return io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)) },
	} {
		p := page{from: 1, count: 5}
		if err := p.read(context.Background(), r()); !errors.Is(err, broken) {
			t.Errorf("%s: Read: %v", name, err)
		}
		for _, multiline := range []bool{false, true} {
			in := grepInput{Pattern: "nothing", OutputMode: filesMode, Multiline: multiline}
			expr, err := in.compile()
			if err != nil {
				t.Fatal(err)
			}
			g := &grepRun{in: in, expr: expr}
			g.begin("f")
			if err := g.scan(context.Background(), r()); !errors.Is(err, broken) {
				t.Errorf("%s: Grep, multiline %v: %v", name, multiline, err)
			}
		}
	}
}

// A folder that disappears during a search is only counted.
func TestFilesThatVanishDuringASearch(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/x", "b/x", "c/x"} {
		write(t, filepath.Join(root, name), "text\n")
	}
	s, _, err := paths{workspace.NewWorkdir(root)}.openSearch(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var seen []string
	s.visit = func(name string, _ fs.DirEntry) error {
		seen = append(seen, name)
		return os.RemoveAll(filepath.Join(root, "b"))
	}
	if err := s.run(t.Context()); err != nil || s.skipped != 1 || fmt.Sprint(seen) != "[a/x c/x]" {
		t.Errorf("%v, %d skipped, saw %v", err, s.skipped, seen)
	}
	g := &grepRun{show: func(path string) string { return path }}
	if err := g.file(t.Context(), s, "b/x"); err != nil || s.unread != 1 {
		t.Errorf("a file that is gone: %v, %d not read", err, s.unread)
	}
	if err := g.single(t.Context(), s, "b/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the one file is gone: %v", err)
	}
}

func TestAnErrorOfAVisitEndsTheWalk(t *testing.T) {
	root := t.TempDir()
	for i := range 5 {
		write(t, filepath.Join(root, fmt.Sprint(i)), "x")
	}
	s, _, err := paths{workspace.NewWorkdir(root)}.openSearch(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	broken := errors.New("broken")
	visits := 0
	s.visit = func(string, fs.DirEntry) error {
		visits++
		return broken
	}
	if err := s.run(t.Context()); !errors.Is(err, broken) || visits != 1 {
		t.Errorf("%v after %d visits", err, visits)
	}
}

func TestCause(t *testing.T) {
	for _, err := range []error{
		&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES},
		&os.LinkError{Op: "rename", Old: "/x", New: "/y", Err: syscall.EACCES},
		fmt.Errorf("wrapped: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}),
		syscall.EACCES,
	} {
		if got := cause(err); got != syscall.EACCES {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for want, exit := range map[int]proc.Exit{
		0: {}, 7: {Code: 7}, 137: {Code: -1, Signal: "killed"}, 143: {Code: -1, Signal: "terminated"},
		1: {Code: -1, Signal: "something odd"},
	} {
		if got := exitCode(exit); got != want {
			t.Errorf("%+v: %d, want %d", exit, got, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, test := range []struct{ dir, path, rel string }{
		{"/a", "/a", "."}, {"/a", "/a/b", "b"}, {"/", "/a", "a"}, {"/a", "/ab", ""}, {"/a", "/", ""},
		{"/a/b", "/a/c", ""}, {"/a", "/a/..b", "..b"}, {"/a", "/a/...", "..."},
	} {
		if rel, ok := below(test.dir, test.path); rel != test.rel || ok != (test.rel != "") {
			t.Errorf("%s below %s: %q, %v", test.path, test.dir, rel, ok)
		}
	}
	dir := t.TempDir()
	if got := existing(filepath.Join(dir, "no", "such")); got != dir {
		t.Errorf("the nearest folder there is: %s", got)
	}
}

func TestRunes(t *testing.T) {
	for _, test := range []struct {
		s           string
		n           int
		first, last string
	}{
		{"", 3, "", ""}, {"abc", 0, "", ""}, {"abc", 2, "ab", "bc"}, {"abc", 5, "abc", "abc"}, {"äöü", 2, "äö", "öü"},
		{"a\xffb", 2, "a\xff", "\xffb"},
	} {
		if got := texts.Runes(test.s, test.n); got != test.first {
			t.Errorf("the first %d of %q: %q", test.n, test.s, got)
		}
		if got := lastRunes(test.s, test.n); got != test.last {
			t.Errorf("the last %d of %q: %q", test.n, test.s, got)
		}
	}
	if got := cutAround(bytes.Repeat([]byte("ü"), 400), []int{700, 702}); !strings.HasPrefix(got, "… ü") {
		t.Errorf("cut within a letter: %.20q", got)
	}
}
