//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/hooks/testrun"
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
	c.waits("This installs claude-agent-acp: npm i -g @agentclientprotocol/claude-agent-acp")
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

// TestTerminalNotices: a terminal with a live view is told of tasks and of the end of the run.
func TestTerminalNotices(t *testing.T) {
	t.Setenv("VTE_VERSION", "")
	t.Setenv("TMUX", "")
	folder := testrun.Files(t, map[string]string{
		"team.yaml": "covey: 1\nname: crew\nlead: {model: {provider: script, script: lead.yaml}, self_claim: true}\n" +
			"tasks: [{subject: Look}]\nnotify: [{to: desktop, about: [done, ended]}]\n",
		"lead.yaml": "exhausted: stop\nsteps:\n" +
			"  - {when: 'task', call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}\n" +
			"  - {say: done, times: -1}\n",
	})
	c := newConsole(t, folder, "up", "--trust")
	c.ends(cli.ExitDone)
	for _, want := range []string{
		"\x1b]9;covey crew: done of lead: lead has completed task 1: Look\x07",
		"\x1b]9;covey crew: ended: the team ends: all work is done\x07",
	} {
		if !strings.Contains(c.raw(), want) {
			t.Errorf("the terminal got no %q, but %q", want, c.raw())
		}
	}
}
