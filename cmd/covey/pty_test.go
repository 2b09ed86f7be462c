//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// console is a program on a terminal of its own, as a person has it.
type console struct {
	t       *testing.T
	cmd     *exec.Cmd
	tty     *os.File // the program's end; held open, so that its state can be asked
	ptmx    *os.File // our end
	before  *term.State
	width   int // columns, as set last
	copied  chan struct{}
	mu      sync.Mutex
	printed bytes.Buffer
}

// newConsole starts covey in dir on a terminal of 100 by 30.
func newConsole(t *testing.T, dir string, args ...string) *console {
	t.Helper()
	return consoleOf(t, dir, exec.Command("covey", args...))
}

// consoleOf starts a program in dir on a terminal of 100 by 30.
func consoleOf(t *testing.T, dir string, cmd *exec.Cmd) *console {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal here: %v", err)
	}
	c := &console{t: t, cmd: cmd, ptmx: ptmx, tty: tty, copied: make(chan struct{})}
	c.resize(100, 30)
	if c.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	c.cmd.Dir = dir
	c.cmd.Env = append(os.Environ(), "COVEY_STATE_HOME="+dir+"/.state", "TERM=xterm-256color", "NO_COLOR=")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.copy()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		killTeams(dir + "/.state")
		_ = tty.Close()
		_ = ptmx.Close()
		<-c.copied
	})
	return c
}

// copy collects what the program prints, until the terminal is closed.
func (c *console) copy() {
	defer close(c.copied)
	buf := make([]byte, 4096)
	for {
		n, err := c.ptmx.Read(buf)
		c.mu.Lock()
		c.printed.Write(buf[:n])
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// raw is all that was printed so far.
func (c *console) raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.printed.String()
}

// waits waits until the program has printed one of texts.
func (c *console) waits(texts ...string) {
	c.t.Helper()
	c.waitsAfter(0, texts...)
}

// waitsAfter is waits for what comes after so many bytes.
func (c *console) waitsAfter(start int, texts ...string) {
	c.t.Helper()
	for end := time.Now().Add(scriptPatience); ; time.Sleep(10 * time.Millisecond) {
		printed := ansi.Strip(c.raw()[start:])
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(printed, text) }) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("never printed %q, but %q", texts, c.raw())
		}
	}
}

// types types keys.
func (c *console) types(keys string) {
	c.t.Helper()
	if _, err := c.ptmx.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// resize changes the size of the terminal.
func (c *console) resize(width, height int) {
	c.t.Helper()
	c.width = width
	if err := pty.Setsize(c.ptmx, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		c.t.Fatal(err)
	}
}

// ends waits for the program to end with code, and then looks at the terminal.
func (c *console) ends(code int) {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			c.t.Fatal(err)
		}
	case <-time.After(scriptPatience):
		c.t.Fatalf("did not end, but printed %q", c.raw())
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("ended with code %d, want %d: %q", got, code, c.raw())
	}
	c.tidy()
}

// tidy looks at the terminal while no program draws on it: it must be as it was, with the
// cursor shown and the main screen in place.
func (c *console) tidy() {
	c.t.Helper()
	after, err := term.GetState(int(c.tty.Fd()))
	if err != nil || *after != *c.before {
		c.t.Errorf("the terminal was left in another state: %+v, before %+v (%v)", after, c.before, err)
	}
	c.drain()
	raw := c.raw()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?2004h": "\x1b[?2004l"} {
		if strings.LastIndex(raw, on) > strings.LastIndex(raw, off) {
			c.t.Errorf("%q was not taken back by %q", on, off)
		}
	}
}

// drain waits until all that the program has printed has been read: a mark that
// comes after it has.
func (c *console) drain() {
	c.t.Helper()
	const mark = "<all read>"
	if _, err := c.tty.WriteString(mark); err != nil {
		c.t.Fatal(err)
	}
	c.waits(mark)
}

// The scripts of teams on terminals.
const (
	quickScript = `exhausted: stop
steps:
  - {call: [{tool: Bash, input: {command: "while [ ! -e go ]; do sleep 0.05; done"}}]}
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: "All is \u001b[31mwell\u001b[0m.", times: -1}
`
	sleepScript = `exhausted: stop
steps: [{call: [{tool: Bash, input: {command: "trap '' TERM; touch sleeping; sleep 271.828"}}], times: -1}]
`
)

// touch makes a file in dir.
func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// appears waits for a file in dir.
func appears(t *testing.T, dir, name string) {
	t.Helper()
	for end := time.Now().Add(scriptPatience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s never appeared", name)
		}
	}
}

// TestTerminalView: the board of covey up survives every size and leaves the terminal
// in order; the report follows on the main screen.
func TestTerminalView(t *testing.T) {
	t.Parallel()
	dir := teamtest.TeamDir(t, quickScript)
	c := newConsole(t, dir, "up", "--trust")
	c.sees("covey: crew · 1 member of 1 at work · done 0 of 1", "Bash while [ ! -e go ]", "Ctrl-C stop")
	c.types("q")
	c.sees("Ctrl-C stops the team in order, and ends the board with it")
	c.types("s")
	c.sees("to the lead:")
	c.types("hello there\r")
	c.sees("queued for lead", "hello there")
	for _, size := range [][2]int{{40, 8}, {20, 3}, {1, 1}, {3, 40}, {200, 60}, {80, 24}} {
		c.resize(size[0], size[1])
		time.Sleep(30 * time.Millisecond) // sizes that come faster are one to the program
	}
	touch(t, dir, "go")
	c.ends(cli.ExitDone)
	_, report, _ := strings.Cut(c.raw(), "\x1b[?1049l")
	for _, want := range []string{`All is \x1b[31mwell\x1b[0m.`, "crew: all work is done · done 1 of 1", "MEMBER"} {
		if !strings.Contains(ansi.Strip(report), want) {
			t.Errorf("the report lacks %q: %q", want, report)
		}
	}
	if strings.Contains(c.raw(), "\x1b[31mwell") {
		t.Error("an agent has coloured the terminal")
	}
}

// TestTerminalDumb: on a terminal that cannot place the cursor the run is shown as lines.
func TestTerminalDumb(t *testing.T) {
	covey, err := exec.LookPath("covey")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "covey"), []byte("#!/bin/sh\nTERM=dumb exec '"+covey+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	dir := teamtest.TeamDir(t, quickScript)
	touch(t, dir, "go")
	c := newConsole(t, dir, "up", "--trust")
	c.waits("crew: all work is done")
	c.ends(cli.ExitDone)
	if strings.Contains(c.raw(), "\x1b") {
		t.Errorf("drawn on a dumb terminal: %q", c.raw())
	}
}

// TestTerminalSuspend: Ctrl-Z gives the terminal back to the shell as it was, and fg draws again.
// Only a shell with job control, in the same session, can have a job that stops.
func TestTerminalSuspend(t *testing.T) {
	t.Parallel()
	dir := teamtest.TeamDir(t, quickScript)
	for _, tt := range []struct{ command, shows, leave string }{
		{"up --trust --detach --keep && covey attach", "Log of the team", "q"},
		{"attach lead", "Ctrl-D quit", "q"},
		{"down && covey up --trust --keep", "Ctrl-C stop", "\x03"},
	} {
		c := consoleOf(t, dir, exec.Command("sh", "-c",
			"set -m; covey "+tt.command+"; echo \"stopped with $?\"; read answer; fg; echo \"ended with $?\""))
		c.waits(tt.shows)
		c.types("\x1a")
		c.waits("stopped with 1")
		c.tidy()
		before := len(c.raw())
		c.types("\r")
		c.waitsAfter(before, tt.shows)
		c.types(tt.leave)
		c.waits("ended with ")
		c.ends(cli.ExitDone)
	}
}

// TestTerminalInterrupt: Ctrl-C is a key on a raw terminal; once it ends the
// team in order, with a report.
func TestTerminalInterrupt(t *testing.T) {
	t.Parallel()
	dir := teamtest.TeamDir(t, sleepScript)
	c := newConsole(t, dir, "up", "--trust")
	appears(t, dir, "sleeping")
	c.waits("sleep 271.828")
	c.types("\x03")
	c.ends(cli.ExitInterrupted) // long before the command does
	c.waits("crew: interrupted")
}

// TestTerminalInterruptTwice: the second Ctrl-C ends everything at once, leaves
// the terminal in order and no process behind.
func TestTerminalInterruptTwice(t *testing.T) {
	t.Parallel()
	dir := teamtest.TeamDir(t, sleepScript)
	c := newConsole(t, dir, "up", "--trust")
	appears(t, dir, "sleeping")
	c.waits("sleep 271.828")
	c.types("\x03")
	time.Sleep(2 * pressInterval) // a second press
	c.types("\x03")
	c.ends(cli.ExitInterrupted)
	if out, err := exec.Command("pgrep", "-f", fmt.Sprintf("%s.*271.828", dir)).Output(); err == nil {
		t.Errorf("left behind: %s", out)
	}
}

// TestTerminalGone: a terminal that is closed ends the team in order.
func TestTerminalGone(t *testing.T) {
	t.Parallel()
	dir := teamtest.TeamDir(t, sleepScript)
	c := newConsole(t, dir, "up", "--trust")
	appears(t, dir, "sleeping")
	_ = c.tty.Close()
	_ = c.ptmx.Close()
	if err := c.cmd.Wait(); c.cmd.ProcessState.ExitCode() != cli.ExitInterrupted {
		t.Errorf("ended with %v, want code %d", err, cli.ExitInterrupted)
	}
	files, err := filepath.Glob(dir + "/.state/*/journal.jsonl")
	if err != nil || len(files) != 1 {
		t.Fatalf("journals %v, %v", files, err)
	}
	journal, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(journal), `"type":"team_ended"`) {
		t.Errorf("the team did not end in order (%v):\n%s", err, journal)
	}
}

// TestTerminalTrust: the question's default is No, and a Yes is remembered.
func TestTerminalTrust(t *testing.T) {
	t.Parallel()
	dir := teamtest.TeamDir(t, quickScript)
	touch(t, dir, "go")
	for _, no := range []string{"\r", "n\r", "what?\r", "\x04"} {
		c := newConsole(t, dir, "up")
		c.waits("script   lead.yaml")
		c.waits("[y/N]")
		c.types(no)
		c.waits("covey trust --show shows this again, and covey trust trusts it")
		c.ends(cli.ExitNotTrusted)
	}
	if _, err := os.Stat(dir + "/.state"); err == nil {
		t.Error("something was run, or remembered")
	}
	c := newConsole(t, dir, "up")
	c.waits("[y/N]")
	c.types("y\r")
	c.ends(cli.ExitDone)
	c = newConsole(t, dir, "up")
	c.ends(cli.ExitDone)
	if strings.Contains(c.raw(), "[y/N]") {
		t.Error("asked again")
	}
}

// TestTerminalInit: the gate that init has found runs only with a Yes, and its verdict is shown.
func TestTerminalInit(t *testing.T) {
	t.Parallel()
	dir := testkit.Files(t, map[string]string{"go.mod": "this is none\n", "x_test.go": "package x\n"})
	for _, answer := range []string{"\r", "y\r"} {
		c := newConsole(t, dir, "init", "--offline", "--force")
		c.waits("Tasks have a gate: `go test ./...`.")
		c.waits("[y/N]")
		c.types(answer)
		c.waits("Next: covey up")
		c.ends(cli.ExitDone)
		tried := strings.Contains(c.raw(), "gate on TaskCompleted: go test ./...: refuses in "+dir)
		if hinted := strings.Contains(c.raw(), "covey doctor --gates tries it."); tried != (answer == "y\r") || hinted == tried {
			t.Errorf("%q: tried %v, hinted %v", answer, tried, hinted)
		}
	}
}

// TestTerminalAttach: two attach at once, one speaks, both hear it, both leave,
// and the team goes on.
func TestTerminalAttach(t *testing.T) {
	t.Parallel()
	dir := teamtest.TeamDir(t, quickScript)
	touch(t, dir, "go")
	up := newConsole(t, dir, "up", "--trust", "--detach", "--keep")
	up.waits("crew is up")
	up.ends(cli.ExitDone)
	one, two := newConsole(t, dir, "attach", "lead"), newConsole(t, dir, "attach")
	one.sees(`All is \x1b[31mwell\x1b[0m.`, "to lead:", "Ctrl-D quit")
	two.sees("covey: crew")
	one.types("quick question\r")
	one.waits("delivered to lead", "queued for lead")
	two.sees("quick question")
	one.types("\x1b[A\x1b[D\x1b[D!\x05?\r") // Up, twice to the left, Ctrl-E
	two.sees("quick questi!on?")
	one.resize(30, 6)
	one.resize(1, 1)
	one.types("\x1b[5~\x1b[6~") // PgUp, PgDn
	one.types("q")
	one.ends(cli.ExitDone)
	one.waits("left; crew goes on")
	two.types("\x04")
	two.ends(cli.ExitDone)
	down := newConsole(t, dir, "down")
	down.waits("crew has ended")
	down.ends(cli.ExitDone)
}

// TestTerminalBugReport: a report is shown before it is written, and the default is No.
func TestTerminalBugReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written := func() []string {
		list, err := filepath.Glob(filepath.Join(dir, "covey-bug-report-*.tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for answer, want := range map[string]int{"\r": cli.ExitFailed, "n\r": cli.ExitFailed, "y\r": cli.ExitDone} {
		before := len(written())
		c := newConsole(t, dir, "bug-report")
		c.waits("bytes  version.txt", "[y/N]")
		c.types(answer)
		c.ends(want)
		if got := len(written()) - before; got != 1-want {
			t.Errorf("after %q it has written %d", answer, got)
		}
	}
}

// TestTerminalRemove: what goes is shown before it goes, and the default is No.
func TestTerminalRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	team := filepath.Join(dir, ".state", "crew-01234567")
	if err := os.MkdirAll(team, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		command, answer string
		want            int
	}{{"rm crew", "\r", cli.ExitFailed}, {"prune --older 0s", "n\r", cli.ExitFailed}, {"rm crew", "y\r", cli.ExitDone}} {
		c := newConsole(t, dir, strings.Fields(step.command)...)
		c.waits("Remove that? [y/N]")
		if !strings.Contains(ansi.Strip(c.raw()), "remove its state in "+team) {
			t.Errorf("%s shows %q", step.command, c.raw())
		}
		c.types(step.answer)
		c.ends(step.want)
		if _, err := os.Stat(team); (err == nil) != (step.want == cli.ExitFailed) {
			t.Errorf("after %q to %s: %v", step.answer, step.command, err)
		}
	}
}
