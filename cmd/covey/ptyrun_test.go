//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/view"
)

// TestTerminalACP: who starts covey acp in a terminal learns in one line that a client has to.
func TestTerminalACP(t *testing.T) {
	c := newConsole(t, t.TempDir(), "acp")
	c.waits("expects ACP on standard input, which is a terminal here; see https://")
	c.ends(cli.ExitUsage)
}

// TestTerminalRunAsks: without a test command a person is asked for a gate, and without
// an adapter whether to go on; what is not a yes starts nothing.
func TestTerminalRunAsks(t *testing.T) {
	covey, err := exec.LookPath("covey")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := "#!/bin/sh\necho x >> \"${0%/*}/started\"\n" +
		`echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"s1"}'` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+filepath.Dir(covey))
	t.Setenv("HOME", dir)
	folder := t.TempDir()
	started := func() bool { _, err := os.Stat(filepath.Join(dir, "started")); return err == nil }

	c := newConsole(t, folder, "run", "say hello", "--with", "claude")
	c.waits(`No test command is known for this folder.`)
	c.waits(`Gate ("none" to go without): `)
	c.types("\n")
	c.waits("no gate was named, and nothing was started")
	c.ends(cli.ExitUsage)

	c = newConsole(t, folder, "run", "say hello", "--with", "claude")
	c.waits("Gate (")
	c.types("true\n")
	c.waits("Go on without? [y/N] ")
	c.waits("This installs claude-agent-acp: `npm i -g @agentclientprotocol/claude-agent-acp@latest`")
	c.types("\n")
	c.waits("nothing was started; install what is missing")
	c.ends(cli.ExitUsage)
	if started() {
		t.Fatal("it was started without a yes")
	}

	c = newConsole(t, folder, "run", "say hello", "--with", "claude", "--no-gate")
	c.waits("Go on without? [y/N] ")
	c.types("y\n")
	c.waits("nothing was changed, no task was completed")
	c.ends(cli.ExitFailed)
	if !started() {
		t.Error("it was not started after a yes")
	}
}

// TestTerminalNotices: a terminal with a board is told of tasks and of the end of the run.
func TestTerminalNotices(t *testing.T) {
	t.Setenv("VTE_VERSION", "")
	t.Setenv("TMUX", "")
	folder := testkit.Files(t, map[string]string{
		"team.yaml": "covey: 1\nname: crew\nlead: {model: {provider: script, script: lead.yaml}, self_claim: true}\n" +
			"tasks: [{subject: Look}]\nnotify: [{to: desktop, about: [done, ended]}]\n",
		"lead.yaml": "exhausted: stop\nsteps:\n" +
			"  - {when: 'task', call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}\n" +
			"  - {say: done, times: -1}\n",
	})
	c := newConsole(t, folder, "up", "--trust")
	c.ends(cli.ExitDone)
	// Notices that come at the same time are one, a digest.
	var notices strings.Builder
	for _, after := range strings.Split(c.raw(), "\x1b]9;covey crew: ")[1:] {
		notice, _, _ := strings.Cut(after, "\a")
		notices.WriteString(notice)
	}
	for _, want := range []string{"lead has completed task 1: Look", "the team ends: all work is done"} {
		if !strings.Contains(notices.String(), want) {
			t.Errorf("the terminal got no notice %q, but %q", want, c.raw())
		}
	}
}

// TestReportOfStuck: the cause comes first and once, and on a terminal of 80 columns no word is broken.
func TestReportOfStuck(t *testing.T) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skip("no terminal to be had:", err)
	}
	defer ptmx.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 80, Rows: 50}); err != nil {
		t.Fatal(err)
	}
	const why = "the gates refused its turn end 9 times in a row, the last time TaskCompleted: npm test (in /home/me/space): sh: 1: xo: not found"
	e := endedTeam()
	e.Code, e.Answer = orchestrator.CodeUnfinished, ""
	e.Reason = "ana needs attention: " + why + `; nobody can go on: task 7 "Make it" belongs to ana, who needs attention`
	e.Members[1].Reason, e.Members[1].Agent, e.Problems = why, "acp/claude-code", []string{"ana: " + why}
	var out bytes.Buffer
	printReport(&term.Screen{Writer: &out, File: tty}, "crew", e, &view.State{})
	if !strings.HasPrefix(out.String(), "\ncrew: ana needs attention: the gates refused") ||
		strings.Count(strings.Join(strings.Fields(out.String()), " "), why) != 1 {
		t.Errorf("%s", out.String())
	}
	if !strings.Contains(out.String(), "\n  nobody can go on: task 7") {
		t.Errorf("the sentences are not on lines of their own:\n%s", out.String())
	}
	whole := " " + strings.Join(strings.Fields(out.String()), " ") + " "
	for _, word := range strings.Fields(strings.ReplaceAll(endLine("crew", e), "; ", " ") + " TASKS DONE acp/claude-code needs attention builtin/script 12345") {
		if !strings.Contains(whole, " "+word+" ") {
			t.Errorf("%q is broken in\n%s", word, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(strings.TrimRight(line, " \n"))) > 80 {
			t.Errorf("%q is longer than the terminal", line)
		}
	}
}
