//go:build unix

package launch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/acp"
)

// stoppedPlay is a program that claims its task and is stopped in the middle of it. If
// it ever goes on, it completes the task; its next life does so when it may.
var stoppedPlay = []act{
	{When: "You own task #1", Do: []string{teamtest.Claims, "stop", teamtest.Finishes}},
	{When: "own open tasks", Do: []string{"await free", teamtest.Finishes}},
	{When: "go on", Do: []string{teamtest.Finishes}},
}

// oldVoice speaks with the connection and the token of a program that is stopped, as
// something that it has left behind could.
func oldVoice(t *testing.T, dir string) *mcpByHand {
	t.Helper()
	return &mcpByHand{url: toldFake(t, dir, "url")[0], bearer: "Bearer " + toldFake(t, dir, "token")[0]}
}

// stoppedAt begins a team whose program is stopped and has somebody notice it after some
// time. before is the task as it was meanwhile. It is nil, and the team is down again, if
// that time was over before the program was stopped and looked at: the machine is slow.
func stoppedAt(t *testing.T, member string, waits acp.Timeouts, noticed func(events.Line) bool) (u *teamtest.Underway, dir string, before *tasks.Task) {
	t.Helper()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "keep: true\n"+teamtest.OwnedByDev, stoppedPlay...)
	r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, "+member+"}")
	// A watchdog whose rounds are short would notice it before a longer limit does.
	u = teamtest.Start(r, &teamtest.HandClock{Unwatched: true}, func(o *orchestrator.Options) {
		o.Overrides.Patience, o.Overrides.Backoff = waits, time.Millisecond
	})
	early := func() bool { return slices.ContainsFunc(u.Lines.All(), noticed) }
	testkit.Eventually(t, "the program to be stopped", func() bool {
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		return early() || err == nil && strings.Contains(string(log), "stopped ")
	})
	list, err := "", error(nil)
	if !early() {
		list, err = oldVoice(t, dir).call(teamtools.ListTool, "", "{}")
	}
	if err != nil { // its token may be refused a moment before that is told
		testkit.Eventually(t, "that the program is given up, for its call was refused", early)
	}
	task, bad := u.Client().Task(t.Context(), "1")
	if early() {
		u.Stop(errors.New("too slow"))
		u.End()
		return nil, "", nil
	}
	if err != nil || !strings.Contains(list, "#1 [in_progress]") || bad != nil {
		t.Fatalf("while it is stopped the program's tools say %q (%v, %v)", list, err, bad)
	}
	return u, dir, &task
}

// TestStoppedProgram (ADVERSARIAL 21): an agent program is stopped in the middle of its
// turn. Whoever notices it, its silence or the turn's time limit, ends the process before
// another one is begun. It cannot be continued, and what still has its connection or its
// token is refused: the task is as its next life has it.
func TestStoppedProgram(t *testing.T) {
	t.Parallel()
	const soon = 50 * time.Millisecond
	for name, tc := range map[string]struct {
		within  func(time.Duration) (member string, waits acp.Timeouts) // what has it noticed in time
		noticed string                                                  // type of the line that says so
		restart bool                                                    // the member begins anew by itself, under a new epoch
	}{
		"silent": {func(d time.Duration) (string, acp.Timeouts) {
			return "restart: {max: 20, within: 5m}", acp.Timeouts{Silence: d, Tool: d, Cancel: soon, Grace: soon}
		}, "member_restarts", true},
		"turn timeout": {func(d time.Duration) (string, acp.Timeouts) {
			return fmt.Sprintf("limits: {turn_timeout: %v}", d), acp.Timeouts{Cancel: soon, Grace: soon}
		}, "needs_attention", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noticed := func(l events.Line) bool { return l.Type == tc.noticed && l.Member == "dev" }
			for d := time.Second; ; d *= 4 {
				if d > 5*time.Minute {
					t.Fatal("the machine is too slow")
				}
				member, waits := tc.within(d)
				u, dir, before := stoppedAt(t, member, waits, noticed)
				if u != nil && goesOn(t, u, dir, before, tc.restart, noticed) {
					return
				}
			}
		})
	}
}

// goesOn looks at what follows when somebody notices that a program is stopped. It is
// false, and the team is down again, if the next life was noticed as well: the machine is slow.
func goesOn(t *testing.T, u *teamtest.Underway, dir string, before *tasks.Task, restart bool, noticed func(events.Line) bool) bool {
	t.Helper()
	c, voice := u.Client(), oldVoice(t, dir)
	u.Lines.Wait(t, "that somebody notices", noticed)
	if restart {
		awaitStarts(t, dir, 2)
	}
	pid := fakePID(t, dir)
	_ = syscall.Kill(pid, syscall.SIGCONT) // there is nobody to continue
	noneRuns(t, []int{pid})
	if said, err := voice.call(teamtools.UpdateTool, "", `{"taskId":"1","status":"completed"}`); err == nil ||
		!strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "has ended or was restarted") {
		t.Errorf("the old program's late word was answered with %q, %v", said, err)
	}
	after, err := c.Task(t.Context(), "1")
	if err != nil || after.Status != tasks.InProgress || after.Owner != "dev" {
		t.Errorf("after it the task is %+v (%v)", after, err)
	}
	if restart && after.Epoch <= before.Epoch {
		t.Errorf("the new life has epoch %d, the old one had %d", after.Epoch, before.Epoch)
	}
	if err := os.WriteFile(filepath.Join(dir, "free"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !restart {
		if _, err := c.Send(t.Context(), api.Send{To: "dev", Text: "go on"}); err != nil {
			t.Fatal(err)
		}
	}
	first := uint64(0)
	last := u.Lines.Wait(t, "the task's end", func(l events.Line) bool {
		if noticed(l) && first == 0 {
			first = l.Seq
		}
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`) || noticed(l) && l.Seq != first
	})
	if _, err := c.Down(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	u.End()
	u.CompletedOnce()
	return last.Type == "task"
}

// awaitStarts waits until the fake was started n times.
func awaitStarts(t *testing.T, dir string, n int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("start %d of the program", n), func() bool { return len(toldFake(t, dir, "start")) >= n })
}

// TestStoppedProgramLosesItsTask (ADVERSARIAL 21): a program that is stopped keeps its
// task until somebody gives it to another member. When it continues, its own `completed`
// is refused in words that say why.
func TestStoppedProgramLosesItsTask(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "keep: true\n"+teamtest.OwnedByDev, stoppedPlay...)
	u := teamtest.Start(r, &teamtest.HandClock{})
	testkit.AwaitFile(t, filepath.Join(dir, "log"), "stopped ")
	c, lead := u.Client(), "lead"
	if task, err := c.Task(t.Context(), "1"); err != nil || task.Owner != "dev" || task.Status != tasks.InProgress {
		t.Fatalf("it was silent, and its task is %+v (%v)", task, err)
	}
	if _, err := c.UpdateTask(t.Context(), api.TaskUpdate{ID: "1", Owner: &lead}); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(toldFake(t, dir, "stopped")[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testkit.AwaitFile(t, filepath.Join(dir, "log"), "stale owner: task 1 was taken from dev")
	if task, err := c.Task(t.Context(), "1"); err != nil || task.Owner != lead || task.Status == tasks.Completed {
		t.Errorf("its late word has made the task %+v (%v)", task, err)
	}
	if _, err := c.Down(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	u.End()
}
