//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// crowd is how many members the team of TestCrowdOutlivesHosts has; .ci/long sets 200.
var crowd = flag.Int("crowd", 6, "how many members the team of TestCrowdOutlivesHosts has")

// crowdHost is a clone of the team's repository with a state folder of its own, as on a host.
type crowdHost struct {
	t         *testing.T
	dir, home string
	cmd       *exec.Cmd
	log       int64 // length of the log before this life
	ended     chan error
}

// up runs `covey up` there.
func (h *crowdHost) up(flags ...string) {
	h.t.Helper()
	h.cmd = exec.Command("covey", append([]string{"-C", h.dir, "up", "--trust"}, flags...)...)
	h.cmd.Env = append(os.Environ(), "COVEY_STATE_HOME="+h.home)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.OpenFile(h.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil {
		h.log = info.Size()
	}
	h.cmd.Stdout, h.cmd.Stderr = log, log
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan error) { ended <- cmd.Wait() }(h.cmd, h.ended)
}

// begun returns how many turns have begun here in this life of the host.
func (h *crowdHost) begun() int {
	text, err := os.ReadFile(h.dir + ".log")
	if err != nil {
		h.t.Fatal(err)
	}
	_, life, _ := strings.Cut(string(text[h.log:]), "\n")
	return strings.Count(life, " begins (")
}

// kill kills covey and all that it has started.
func (h *crowdHost) kill() {
	if h.cmd != nil {
		_ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL)
		h.ended <- <-h.ended
	}
}

// completed returns how often each task was completed, according to the host's journal.
func (h *crowdHost) completed() map[string]int {
	h.t.Helper()
	place, err := state.PlaceIn(h.home, "crowd", h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	times := map[string]int{}
	for l, err := range state.ReadJournal(place.Journal(), 0) {
		var torn *state.LineError
		switch {
		case errors.Is(err, os.ErrNotExist), errors.As(err, &torn): // by a kill
			continue
		case err != nil:
			h.t.Fatal(err)
		}
		if c, ok := l.Event().Data.(events.TaskChanged); ok && c.Op == tasks.TaskCompleted {
			times[c.Task.ID]++
		}
	}
	return times
}

// crowdFiles are the files of a team of members that each complete a task, up to so many times. keys are further
// sections of the spec, and first are calls before the task is completed, with %d for its number.
func crowdFiles(members int, keys, first string, times int) map[string]string {
	var teammates, list, worker strings.Builder
	for n := 1; n <= members; n++ {
		fmt.Fprintf(&teammates, "  w%d: {model: worker}\n", n)
		fmt.Fprintf(&list, "  - {id: t%[1]d, subject: Do %[1]d, owner: w%[1]d}\n", n)
		fmt.Fprintf(&worker, "  - {when: '#%[1]d\\b', times: %[2]d, call: [%[3]s{tool: TaskUpdate, input: {taskId: \"%[1]d\", status: completed}}]}\n",
			n, times, strings.ReplaceAll(first, "%d", fmt.Sprint(n)))
	}
	return map[string]string{
		"team.yaml": `covey: 1
name: crowd
goal: Work.
models:
  lead: {provider: script, script: lead.yaml}
  worker: {provider: script, script: worker.yaml}
lead: {model: lead}
` + keys + "teammates:\n" + teammates.String() + "tasks:\n" + list.String(),
		"worker.yaml": "steps:\n" + worker.String() + "  - {say: Fine., times: -1}\n",
		"lead.yaml":   "steps: [{say: Fine., times: -1}]\n",
	}
}

// TestCrowdOutlivesHosts: a team of many members runs to its end though the host that runs it is killed
// again and again. Each task is completed once, and what a gate has agreed to is not judged again on
// another host.
func TestCrowdOutlivesHosts(t *testing.T) {
	t.Parallel()
	dir, kills := t.TempDir(), 1
	if *crowd >= 100 {
		kills = 3
	}
	servers, err := bus.StartTrial(t.Context(), filepath.Join(dir, "servers"), "crowd", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	judged, gate := filepath.Join(dir, "judged"), filepath.Join(dir, "gate.sh")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(judged, "")
	write(gate, `sed -n 's/.*"task_id":"\([0-9]*\)".*/\1/p' >>`+judged+"\n")
	shell := func(command string) {
		if out, err := exec.Command("sh", "-c", "cd "+dir+" && "+command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	shell("git init -q -b main one && git init -q --bare origin.git")
	keys := fmt.Sprintf("defaults: {isolation: shared}\ngates: {task: [\"sh %s\"]}\nbus: {url: [\"%s\"], creds: \"%s\"}\n",
		gate, strings.Join(servers.URL, `", "`), servers.Creds)
	for name, text := range crowdFiles(*crowd, keys, "", 2) {
		write(filepath.Join(dir, "one", name), text)
	}
	shell("cd one && git add . && git -c user.name=a -c user.email=a@example.com commit -qm files && git remote add origin ../origin.git && " +
		"git push -q origin main && cd .. && git clone -q -b main origin.git two")
	leads, waits := &crowdHost{t: t, dir: filepath.Join(dir, "one"), home: t.TempDir()}, &crowdHost{t: t, dir: filepath.Join(dir, "two"), home: t.TempDir()}
	defer func() {
		leads.kill()
		waits.kill()
		if t.Failed() {
			for _, name := range []string{"one.log", "two.log"} {
				text, _ := os.ReadFile(filepath.Join(dir, name))
				t.Logf("%s:\n%s", name, text[max(0, len(text)-3000):])
			}
		}
	}()
	count := func() []string {
		text, err := os.ReadFile(judged)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text))
	}
	leads.up()
	for n := range kills {
		for len(count()) <= (n+1)*(*crowd)/(kills+2) {
			select {
			case err := <-leads.ended:
				leads.ended <- err
				t.Fatalf("covey up has ended before it was killed: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
		}
		if n == 0 {
			waits.up("--standby")
		}
		leads.kill()
		done, before := leads.completed(), len(count())
		leads, waits = waits, leads
		for leads.begun() == 0 { // else the one that was killed goes on at once, as after a restart
			select {
			case err := <-leads.ended:
				leads.ended <- err
				t.Fatalf("a standby has ended before it took over: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
		}
		waits.up("--standby")
		defer func() {
			for _, id := range count()[before:] {
				if done[id] > 0 {
					t.Errorf("task %s was completed on a host and judged again on another", id)
				}
			}
		}()
	}
	for _, h := range []*crowdHost{leads, waits} {
		err := <-h.ended
		h.ended <- err
		if err != nil {
			t.Errorf("covey up: %v", err)
		}
	}
	times := leads.completed()
	for n := 1; n <= *crowd; n++ {
		if id := fmt.Sprint(n); times[id] != 1 {
			t.Errorf("task %s was completed %d times", id, times[id])
		}
	}
	t.Logf("%d members, %d kills: the gate was asked %d times", *crowd, kills, len(count()))
}
