//go:build unix

package main_test

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRealAgentsLiveThroughMishaps kills each agent program in the middle of a
// call, kills covey in the middle of the next, interrupts a third, and lets the
// model fail. The task gets done all the same, in one session of the program.
func TestRealAgentsLiveThroughMishaps(t *testing.T) {
	two := make(chan struct{}, 2)
	for _, preset := range slices.Sorted(maps.Keys(realAgents())) {
		inBoxes(t, preset, func(t *testing.T, box string) {
			t.Parallel()
			env := needAgents(t, preset)
			takeTurns(t, two)
			dir := layOut(t, "mishaps", preset, box)
			first, second, third := watchWork(t, dir, "first"), watchWork(t, dir, "second"), watchWork(t, dir, "third")

			team := startTeam(t, dir, env)
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(team.story(t))
				}
			})
			killed := team.programOf(t, first.await(t))
			kill(t, killed)
			first.awaitEnd(t) // nothing of a program is left to work behind its back
			if other := team.programOf(t, second.await(t)); other == killed {
				t.Errorf("process %d still works after it was killed", killed)
			}

			kill(t, team.cmd.Process.Pid)
			team = startTeam(t, dir, env)
			second.awaitEnd(t)
			team.programOf(t, third.await(t))

			team.covey(t, dir, "interrupt", "--go-on", "kim")
			third.awaitEnd(t)
			team.await(t, "interrupted turn of kim", func(l journalLine) bool {
				return l.Type == "turn_ended" && l.Member == "kim" && strings.HasPrefix(l.Data.Reason, "aborted")
			})
			team.finish(t) // kim still owns the task, and is reminded of it
			team.line = readLines(t, team.covey(t, dir, "logs", "--json"))

			checkFile(t, filepath.Join(dir, "workspace", "result.txt"), "42\n")
			team.checkBox(t, box)
			team.checkMishaps(t)
		})
	}
}

// checkMishaps: the program was told what had happened, went on in its session,
// and the failed turn was one of the model's.
func (team *liveTeam) checkMishaps(t *testing.T) {
	t.Helper()
	if who := team.completedBy("1"); who != "kim" {
		t.Errorf("task 1 was completed by %s", who)
	}
	failed := team.find(0, func(l journalLine) bool {
		return l.Type == "idle" && l.Member == "kim" && l.Data.Reason == "failed"
	})
	if failed < 0 || team.find(failed, called("mcp__covey__team_task_update")) < 0 {
		t.Error("no turn of kim failed with its model before the task was done")
	}
	if n := team.count(called("mcp__covey__team_task_claim")); n != 1 {
		t.Errorf("kim claimed the task %d times: its program has lost its session", n)
	}
	told := team.transcriptOf(t, "kim")
	for text, want := range map[string]int{
		"Your program ended in the middle of this turn": 1, "the agent program ended before this call did": 1,
		"Your last turn was cut off before its end": 1,
	} {
		if n := strings.Count(told, text); n != want {
			t.Errorf("the transcript of kim has %q %d times, want %d", text, n, want)
		}
	}
	for _, l := range team.line {
		if l.Type == "needs_attention" {
			t.Errorf("%s needs attention: %s", l.Member, l.Data.Reason)
		}
	}
}

// work is a run of work.sh that a program's tool call starts.
type work struct {
	name  string
	lines chan string // its process id; closed when the process has ended
}

// watchWork makes the pipe over which a run of work.sh tells that it lives.
func watchWork(t *testing.T, dir, name string) *work {
	t.Helper()
	path := filepath.Join(dir, "alive."+name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &work{name: name, lines: make(chan string, 1)}
	go func() { // opening waits for the writer
		defer close(w.lines)
		pipe, err := os.Open(path)
		if err != nil {
			return
		}
		defer pipe.Close()
		for in := bufio.NewScanner(pipe); in.Scan(); {
			w.lines <- in.Text()
		}
	}()
	t.Cleanup(func() { // a run that never began must not leave the goroutine behind
		if pipe, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			pipe.Close()
		}
	})
	return w
}

// await waits until the work has begun, and gives its process id.
func (w *work) await(t *testing.T) int {
	t.Helper()
	select {
	case line := <-w.lines:
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatalf("work %s: %v", w.name, err)
		}
		return pid
	case <-time.After(agentPatience):
		t.Fatalf("work %s has not begun within %v", w.name, agentPatience)
		return 0
	}
}

// awaitEnd waits until the work's process has ended.
func (w *work) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case _, more := <-w.lines:
		if more {
			t.Fatalf("work %s has begun twice", w.name)
		}
	case <-time.After(agentPatience):
		t.Fatalf("work %s is still going on", w.name)
	}
}

// programOf is the agent program that a process belongs to: the one of its
// ancestors that covey has started.
func (team *liveTeam) programOf(t *testing.T, pid int) int {
	t.Helper()
	for up := pid; up > 1; {
		parent := parentOf(t, up)
		if parent == team.cmd.Process.Pid {
			return up
		}
		up = parent
	}
	t.Fatalf("process %d does not come from the team", pid)
	return 0
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	parent, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// kill is kill -9 of one process.
func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
