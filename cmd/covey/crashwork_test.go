//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// A team in a git repository that is killed again and again: two workers commit, one
// member needs a plan, one asks a person before each command, a schedule runs, and what
// is done is merged behind a gate. The tasks of the workers come first, then those of
// quy, the last is pia's.
const (
	branchWork    = 4
	branchAsks    = 2
	branchCrashes = 3 // of one team
)

// branchFiles are the spec, scripts and gate of such a team. The gate notes the trees to
// which it has agreed.
func branchFiles(tested string) map[string]string {
	var spec, worker, quy strings.Builder
	spec.WriteString(`covey: 1
name: crash
goal: Live.
on_ask: wait
models:
  lead: {provider: script, script: lead.yaml}
  worker: {provider: script, script: worker.yaml}
  quy: {provider: script, script: quy.yaml}
  pia: {provider: script, script: pia.yaml}
defaults: {permission_mode: bypassPermissions}
lead: {model: lead, tools: [Read]}
teammates:
  w1: {model: worker, role: worker}
  w2: {model: worker, role: worker}
  quy: {model: quy, permission_mode: default, self_claim: false}
  pia: {model: pia, plan: required, self_claim: false}
merge: {into: main}
gates: {merge: [./gate.sh]}
schedules: [{name: beat, cron: "* * * * *", to: lead, text: tick}]
tasks:
`)
	worker.WriteString("steps:\n")
	quy.WriteString("steps:\n")
	for id := 1; id <= branchWork+branchAsks; id++ {
		if id <= branchWork {
			fmt.Fprintf(&spec, "  - {id: t%d, subject: work, wants: {role: worker}}\n", id)
			branchSteps(&worker, id, fmt.Sprintf("echo %[1]d >f%[1]d.txt; rm -f $(git rev-parse --git-dir)/index.lock; "+
				"git add f%[1]d.txt && (git diff --cached --quiet || git commit -qm work-%[1]d)", id))
			continue
		}
		fmt.Fprintf(&spec, "  - {id: t%d, subject: ask, owner: quy}\n", id)
		branchSteps(&quy, id, fmt.Sprintf("echo %[1]d >f%[1]d.txt", id))
	}
	last := branchWork + branchAsks + 1
	fmt.Fprintf(&spec, "  - {id: t%d, subject: plan, owner: pia}\n", last)
	var pia strings.Builder
	pia.WriteString("steps:\n  - {when: 'You own task', call: [{tool: ExitPlanMode, input: {plan: one}}]}\n" +
		"  - {when: 'submitted to', say: I wait., times: -1}\n")
	branchSteps(&pia, last, fmt.Sprintf("echo %[1]d >f%[1]d.txt", last))
	return map[string]string{
		"team.yaml": spec.String(), "worker.yaml": worker.String() + fallbackStep, "quy.yaml": quy.String() + fallbackStep,
		"pia.yaml": pia.String() + fallbackStep, "mine.txt": "as committed\n",
		"lead.yaml": `steps:
  - when: '(plan_approval_request|wait for your answer)'
    call: [{tool: SendMessage, input: {to: pia, message: {type: plan_approval_response, request_id: pia, approve: true, permissionMode: bypassPermissions}}}]
    times: -1
` + fallbackStep,
		"gate.sh": "#!/bin/sh\nsleep 0.02\ngit rev-parse 'HEAD^{tree}' >>" + tested + "\n",
	}
}

// fallbackStep answers whatever else comes.
const fallbackStep = "  - {say: Fine., times: -1}\n"

// branchSteps are the steps with which a member does one task: the command, as often as
// it is cut off, and then the task's end.
func branchSteps(b *strings.Builder, id int, command string) {
	fmt.Fprintf(b, `  - when: '(?s)(claimed task #%[1]d:|own task #%[1]d:|own open tasks.*#%[1]d |approved your plan|"approve":true)'
    call: [{tool: Bash, input: {command: %[2]q}}]
    times: -1
  - when: '\bdid-%[1]d\b'
    call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}}]
    times: -1
`, id, command+fmt.Sprintf(" && echo did-%d", id))
}

// branchCrash is such a team.
type branchCrash struct {
	*crashTeam
	tested  string // the file of the gate's notes
	moments int    // of the schedule, that were due in some life

	mu       sync.Mutex
	accepted map[string]int // answers that a person gave, by request
}

func newBranchCrash(t *testing.T, seed uint64) *branchCrash {
	t.Helper()
	tested := filepath.Join(t.TempDir(), "tested")
	c := &branchCrash{crashTeam: crashTeamOf(t, seed, branchFiles(tested)), tested: tested,
		accepted: map[string]int{}}
	c.git("init -q -b main; git config user.name dev; git config user.email dev@x; echo up.log >.git/info/exclude; " +
		"git add -A; git commit -qm first; echo 'not committed' >mine.txt")
	return c
}

// git runs "git ARGS" in the workspace and returns what it printed.
func (c *branchCrash) git(args string) string {
	c.t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", "git "+args)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Errorf("seed %d: git %s: %v\n%s", c.seed, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestCrashOfBranches kills covey at random moments (ADVERSARIAL 17) while working
// copies are made, work is merged, questions wait and a schedule is due. No commit may be
// lost, nothing be merged untested or by half, no question be lost or answered twice, and
// each moment of the schedule come at most once. A failure names the seed.
func TestCrashOfBranches(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	rounds := max(branchCrashes, *crashes/10)
	for first := 0; first < rounds && !t.Failed(); first += branchCrashes {
		c := newBranchCrash(t, uint64(first)+1)
		for round := 0; round < branchCrashes && !t.Failed(); round++ {
			c.round(round)
		}
		c.rest()
		c.check()
		c.keep()
	}
	t.Logf("%d crashes", rounds)
}

// round is one life. It ends some time after the team can be reached; half of the lives,
// as soon as work is being merged.
func (c *branchCrash) round(n int) {
	c.miss(n)
	cmd := c.start()
	ctx, stop := context.WithTimeout(c.t.Context(), scriptPatience)
	client := dialCrash(ctx, c.place)
	if client == nil {
		c.t.Errorf("seed %d, round %d: nobody can be reached: %s", c.seed, n, c.log())
	} else {
		done := c.answering(ctx)
		moment := time.Duration(c.random.IntN(400)) * time.Millisecond
		if c.random.IntN(2) == 0 {
			moment /= 10
			c.awaitMerge(ctx, client)
		}
		time.Sleep(moment)
		_ = client.Close()
		defer done()
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		c.t.Errorf("seed %d, round %d: covey was gone before it was killed (%v): %s", c.seed, n, err, c.log())
	}
	_ = cmd.Wait() // killed
	stop()
	c.unlock()
	if s, ok := c.store(); ok {
		_ = s.Close()
	}
	c.checkMain()
}

// unlock removes what a git leaves in the user's own copy that is killed: it asks its user
// to do that.
func (c *branchCrash) unlock() {
	for _, name := range []string{"index.lock", "HEAD.lock", "ORIG_HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"} {
		_ = os.Remove(filepath.Join(c.dir, ".git", filepath.FromSlash(name)))
	}
}

// miss has the store forget that the schedule came: each moment is due in two lives, as
// if the note of it had been lost in the crash.
func (c *branchCrash) miss(n int) {
	s, err := tasks.Open(c.place.Store(), &tasks.Options{BlobDir: c.place.Blobs(), LockTimeout: scriptPatience})
	if err != nil {
		return // there is none before the first life
	}
	defer s.Close()
	c.moments = max(c.moments, n/2+1)
	from := time.Date(2026, 1, 1, n/2, 0, 0, 0, time.UTC)
	if err := s.Put(c.t.Context(), "schedules", json.RawMessage(`{"beat":{"from":"`+from.Format(time.RFC3339)+`"}}`)); err != nil {
		c.t.Error(err)
	}
}

// awaitMerge waits until work is tested or about to land, a second at most.
func (c *branchCrash) awaitMerge(ctx context.Context, client *api.Client) {
	for range 100 {
		r, err := client.Review(ctx, api.ReviewRequest{})
		if err != nil {
			return
		}
		for _, m := range r.Reviews {
			if m.State == tasks.MergeTesting || m.State == tasks.MergeLanding {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// answering has two people say yes to whatever is asked, as long as covey lives; done
// waits for them.
func (c *branchCrash) answering(ctx context.Context) (done func()) {
	var people sync.WaitGroup
	for range 2 {
		people.Go(func() {
			client := dialCrash(ctx, c.place)
			if client == nil {
				return
			}
			defer client.Close()
			for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
				list, err := client.Inbox(ctx, api.InboxQuery{})
				if err != nil {
					return
				}
				for _, r := range list {
					if _, err := client.AnswerInbox(ctx, api.InboxAnswer{ID: r.ID, Approve: true}); err == nil {
						c.mu.Lock()
						c.accepted[r.ID]++
						c.mu.Unlock()
					}
				}
			}
		})
	}
	return people.Wait
}

// rest lets the team end its work, and ends it in order.
func (c *branchCrash) rest() {
	cmd := c.start()
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	ctx, stop := context.WithTimeout(c.t.Context(), scriptPatience)
	defer stop()
	client := dialCrash(ctx, c.place)
	if client == nil {
		c.t.Fatalf("seed %d: the team cannot be reached after the last crash: %s", c.seed, c.log())
	}
	defer client.Close()
	defer c.answering(ctx)()
	for !c.allDone(ctx, client) {
		if ctx.Err() != nil {
			c.t.Errorf("seed %d: the team does not end its work: %s\n%s\n%s", c.seed, c.log(),
				c.git("status --porcelain"), c.open())
			c.keep()
			c.t.FailNow()
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := client.Down(ctx, "looked at"); err != nil {
		c.t.Errorf("seed %d: down: %v", c.seed, err)
	}
	_ = cmd.Wait() // told to end
	stop()
}

// open is what is not merged, for a failure.
func (c *branchCrash) open() string {
	client := dialCrash(c.t.Context(), c.place)
	defer client.Close()
	r, err := client.Review(c.t.Context(), api.ReviewRequest{})
	text, _ := json.MarshalIndent(r, "", " ") // plain values
	return fmt.Sprintf("%s %v", text, err)
}

// allDone says whether every task is completed and merged, and nobody works.
func (c *branchCrash) allDone(ctx context.Context, client *api.Client) bool {
	all, err := client.Tasks(ctx)
	if err != nil || len(all) < branchWork+branchAsks+1 {
		return false
	}
	for _, task := range all {
		if task.Status != tasks.Completed {
			return false
		}
	}
	r, err := client.Review(ctx, api.ReviewRequest{})
	return err == nil && len(r.Reviews) == 0 && c.atRest(ctx, client)
}
