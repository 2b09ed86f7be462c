//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/hooks/testkit"
)

// sees waits until the screen shows all of texts. The library writes only what changes, so the
// size is changed by a column, after which it writes the whole frame.
func (c *console) sees(texts ...string) {
	c.t.Helper()
	frame := ""
	settles := 300 * time.Millisecond // longer each time, because a busy machine draws slowly
	for end := time.Now().Add(scriptPatience); time.Now().Before(end); settles *= 2 {
		c.width ^= 1
		from := len(c.raw())
		c.resize(c.width, 30)
		for settle := time.Now().Add(settles); time.Now().Before(settle); time.Sleep(10 * time.Millisecond) {
			frame = ansi.Strip(c.raw()[from:])
			missing := false
			for _, text := range texts {
				missing = missing || !strings.Contains(frame, text)
			}
			if !missing {
				return
			}
		}
	}
	c.t.Fatalf("never showed %q, but %q", texts, frame)
}

// askingTeam is a team whose lead asks before it runs touch, and then goes on.
func askingTeam(t *testing.T) string {
	t.Helper()
	return testkit.Files(t, map[string]string{
		"team.yaml": `covey: 1
name: crew
goal: Get it done.
on_ask: wait
lead: {model: {provider: script, script: lead.yaml}, permissions: {ask: ["Bash(touch *)"]}, permission_mode: bypassPermissions}
teammates: {ana: {model: {provider: script, script: ana.yaml}}}
`,
		"lead.yaml": "exhausted: stop\nsteps:\n  - {call: [{tool: Bash, input: {command: touch asked}}]}\n  - {call: [{tool: Bash, input: {command: touch asked again}}]}\n  - {say: \"All is \\e[31mwell\\e[0m.\", times: -1}\n",
		"ana.yaml":  "exhausted: stop\nsteps: [{say: Hi., times: -1}]\n",
	})
}

// TestTerminalBoard: on the board a question is answered, a member held, a message sent and a log
// filtered; the board stays while the team ends and starts again, and leaving it ends nothing.
func TestTerminalBoard(t *testing.T) {
	t.Parallel()
	dir := askingTeam(t)
	up := newConsole(t, dir, "up", "--trust", "--detach", "--keep")
	up.waits("crew is up")
	up.ends(cli.ExitDone)
	c := newConsole(t, dir, "attach")
	c.sees("covey: crew · needs you", "1 Needs you (1)")
	c.types("1")
	c.sees("> lead  permission", "touch asked", "a approve")
	c.types("a")
	c.sees("approve r1 of lead (a text may go along):")
	c.types("\r")
	appears(t, dir, "asked")
	c.sees("permission of lead: approved", "r2", "touch asked again")
	c.types("dnot twice\r")
	c.sees("permission of lead: denied (not twice)", "1 Nothing needs you")
	c.types("2gjj")
	c.sees("> ana", "4 Log of ana")
	c.types("h")
	c.sees("ana is held", "> ana   held", "h release")
	c.types("h")
	c.sees("ana goes on", "> ana   idle", "h hold")
	c.types("i")
	c.sees("interrupt ana?")
	c.types("x\r") // what is asked for takes no text
	c.sees("ana is in no turn; it is held")
	c.types("ks")
	c.sees("to lead:")
	c.types("Mind the 世界\r")
	c.sees("delivered to lead", "Mind the 世界")
	c.types("4/WELL\r")
	c.sees(`lines that contain "WELL"`, `All is \x1b[31mwell\x1b[0m.`)
	c.types("\x1b")
	c.sees("Mind the 世界")
	for _, size := range [][2]int{{20, 5}, {1, 1}, {200, 60}, {3, 40}, {80, 24}} {
		c.resize(size[0], size[1])
		time.Sleep(30 * time.Millisecond) // sizes that come faster are one to the program
	}
	down := newConsole(t, dir, "down", "--reason", "lunch")
	down.ends(cli.ExitDone)
	c.sees("ended: told to stop: lunch", "the team does not run")
	again := newConsole(t, dir, "up", "--trust", "--detach", "--keep")
	again.waits("crew is up")
	again.ends(cli.ExitDone)
	c.sees("goal: Get it done.", "h hold")
	c.types("q")
	c.ends(cli.ExitDone)
	c.waits("left; crew goes on")
	ps := newConsole(t, dir, "ps")
	ps.waits("running for")
	ps.ends(cli.ExitDone)
}

// TestTerminalBoardEnds: however the board ends, the terminal is as it was, and of a team that
// does not run it shows the last state.
func TestTerminalBoardEnds(t *testing.T) {
	t.Parallel()
	dir := askingTeam(t)
	c := newConsole(t, dir, "attach")
	c.waits("no team")
	c.ends(cli.ExitFailed)
	up := newConsole(t, dir, "up", "--trust", "--detach", "--keep")
	up.waits("crew is up")
	up.ends(cli.ExitDone)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		c := newConsole(t, dir, "attach")
		c.sees("covey: crew")
		if err := c.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		c.ends(cli.ExitDone)
	}
	down := newConsole(t, dir, "down")
	down.ends(cli.ExitDone)
	c = newConsole(t, dir, "attach")
	c.sees("ended: told to stop", "this is its last state", "1 Needs you (1)", "lead  permission")
	c.types("1a\x03")
	c.ends(cli.ExitDone)
	c.waits("crew has ended; covey ps tells how")
}

// TestTerminalUpAsks: somebody who runs a team on a terminal can be asked by it, from its first question
// on, and answers on the board.
func TestTerminalUpAsks(t *testing.T) {
	t.Parallel()
	dir := askingTeam(t)
	spec, err := os.ReadFile(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	unattended := bytes.ReplaceAll(spec, []byte("on_ask: wait\n"), nil)
	if err := os.WriteFile(filepath.Join(dir, "team.yaml"), unattended, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newConsole(t, dir, "up", "--trust")
	c.sees("1 Needs you (1)", "> lead  permission", "touch asked", "a approve", "Ctrl-C stop")
	c.types("a")
	c.sees("approve r1 of lead (a text may go along):")
	c.types("\r")
	appears(t, dir, "asked")
	c.sees("r2", "touch asked again")
	c.types("dnot twice\r")
	c.ends(cli.ExitDone)
	c.waits("crew: all work is done")
}

// finishingTeam is a team in a repository whose member finishes two tasks, in a folder of its own,
// and revises what is sent back. Nothing is merged unasked.
func finishingTeam(t *testing.T) string {
	t.Helper()
	dir := testkit.Files(t, map[string]string{
		".gitignore": ".state\n",
		"team.yaml": `covey: 1
name: crew
goal: Write two files.
lead: {model: {provider: script, script: lead.yaml}}
teammates:
  ana: {model: {provider: script, script: ana.yaml}, isolation: worktree, permission_mode: acceptEdits}
tasks: [{id: a, subject: Write a, owner: ana}, {id: b, subject: Write b, owner: ana, blocked_by: [a]}]
`,
		"lead.yaml": "steps: [{say: Well., times: -1}]\n",
		"ana.yaml": `steps:
  - when: Write a
    call:
      - {tool: TaskUpdate, input: {taskId: "1", status: in_progress}}
      - {tool: Write, input: {file_path: a.txt, content: a}}
      - {tool: TaskUpdate, input: {taskId: "1", status: completed}}
  - {say: A is written.}
  - when: Write b
    call:
      - {tool: TaskUpdate, input: {taskId: "2", status: in_progress}}
      - {tool: Write, input: {file_path: b.txt, content: b}}
      - {tool: TaskUpdate, input: {taskId: "2", status: completed}}
  - {say: B is written.}
  - when: In capitals
    call:
      - {tool: TaskUpdate, input: {taskId: "3", status: in_progress}}
      - {tool: Write, input: {file_path: more.txt, content: B}}
      - {tool: TaskUpdate, input: {taskId: "3", status: completed}}
  - {say: In capitals now., times: -1}
`,
	})
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "dev"}, {"config", "user.email", "dev@example.invalid"},
		{"add", "."}, {"commit", "-q", "-m", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestTerminalBoardMerges: finished work needs a person; on the board it is merged, and sent back to
// its author, who revises it.
func TestTerminalBoardMerges(t *testing.T) {
	t.Parallel()
	dir := finishingTeam(t)
	up := newConsole(t, dir, "up", "--trust", "--detach", "--keep")
	up.waits("crew is up")
	up.ends(cli.ExitDone)
	c := newConsole(t, dir, "attach")
	c.sees("covey: crew · needs you", "1 Needs you (2)", "ana  to merge", "Write a", "Write b", "M merge unmarked")
	c.types("1gm")
	c.sees("merge task 1?")
	c.types("\r")
	appears(t, dir, "a.txt")
	c.sees("in the merge queue: task 1 (", "1 Needs you (1)", "1  merged")
	c.types("r")
	c.sees("send back task 2:")
	c.types("In capitals, please.\r")
	c.sees("Revise task 2", "task 3 (Revise", "2  sent back", "3  done, to merge")
	c.types("gm")
	c.sees("merge task 3?")
	c.types("\r")
	appears(t, dir, "more.txt")
	c.sees("1 Nothing needs you", "3  merged")
	c.types("q")
	c.ends(cli.ExitDone)
}
