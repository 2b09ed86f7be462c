package crew_test

import (
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// setClock is the machine's clock, which somebody sets: its time of day jumps, while
// what has passed since a moment does not, as time.Time knows both. A machine that
// sleeps looks the same. Waits of half a minute and more end when the test says so, for
// those who wait look at the clock then.
type setClock struct {
	t     *testing.T
	mu    sync.Mutex
	ahead time.Duration
	rings []chan time.Time
	looks int // how often the crew has looked at the team
}

// now is the time of day as it is set, with the reading of the clock that cannot be.
func (c *setClock) now() time.Time {
	type parts struct { // of a time.Time; see the check in TestClockJumps
		wall uint64
		ext  int64 // nanoseconds since the process began
		loc  *time.Location
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	real := time.Now()
	set := real.Add(c.ahead)
	(*parts)(unsafe.Pointer(&set)).ext = (*parts)(unsafe.Pointer(&real)).ext
	return set
}

// after is time.After; a rest after a failure is cut short, and the crew, whose time is
// bounded, looks more often.
func (c *setClock) after(d time.Duration) <-chan time.Time {
	if d < 0 {
		c.t.Errorf("somebody waits for %v", d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d == 15*time.Second { // how often the ledger keeps the time
		c.looks++
		return time.After(5 * time.Millisecond)
	}
	if d < members.WatchInterval {
		return time.After(min(d, 50*time.Millisecond))
	}
	ring := make(chan time.Time, 1)
	c.rings = append(c.rings, ring)
	return ring
}

// put puts the clock so far ahead of the machine's, or behind it, and rings.
func (c *setClock) put(ahead time.Duration) (looks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
	for _, ring := range c.rings {
		ring <- time.Time{}
	}
	c.rings = nil
	return c.looks
}

// set is put, and waits until the crew has looked twice since: once it may have begun to
// before.
func (c *setClock) set(ahead time.Duration) {
	c.t.Helper()
	before := c.put(ahead)
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		looks := c.looks - before
		c.mu.Unlock()
		if looks >= 2 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the crew does not look at the clock")
		}
	}
}

const (
	aYear = 365 * 24 * time.Hour
	aDay  = 24 * time.Hour
)

// clockTeam has all that waits for a time: dev waits for a person's permission, ops fails
// and rests, two schedules and a budget of time run.
var clockTeam = map[string]string{
	"team.yaml": strings.Replace(testkit.PairSpec, "lead: {model: lead}\nteammates:\n", "  ops: {provider: script, script: ops.yaml}\n"+
		"lead: {model: lead}\nteammates:\n  ops: {model: ops, restart: {max: 3, within: 1h}}\n", 1) + `
on_ask: wait
ask_limit: 1h
budget: {time: 2h}
schedules:
  - {name: hourly, cron: "@every 60m", to: lead, text: What is open?}
  - {name: nightly, cron: "30 2 * * *", to: lead, text: Good night.}
tasks:
  - {id: a, subject: Look around, owner: dev}
  - {id: b, subject: Look again, owner: ops}
`,
	"lead.yaml": "steps: [{say: Fine., times: -1}]",
	"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: "echo ran >>made"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: done, times: -1}
`,
	"ops.yaml": `steps:
  - {error: {type: overloaded}}
  - {when: '#2', call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]}
  - {say: done, times: -1}
`,
}

// TestClockJumps (ADVERSARIAL 20): the clock of a team at work goes a year ahead, to
// yesterday, and back. No question, lease, rest or budget runs out by that, nobody waits
// for a negative time, and of what the schedules seem to have missed each comes once.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	clock := &setClock{t: t}
	before := clock.now()
	clock.put(aYear)
	after := clock.now()
	if after.Sub(before) > time.Hour || after.Round(0).Sub(before.Round(0)) < aYear {
		t.Fatalf("Go's times are made of other parts by now: from %v to %v", before, after)
	}
	clock.put(0)
	u := teamtest.Start(teamtest.NewRig(t, clockTeam), &teamtest.HandClock{}, func(o *orchestrator.Options) {
		o.Overrides.Clock = members.Clock{TimeNow: clock.now, TimeAfter: clock.after}
	})
	asked, c := u.Asked(requests.AskPermission), u.Client()
	for st, err := c.Status(t.Context()); st.Requests == 0 && err == nil; st, err = c.Status(t.Context()) {
		time.Sleep(time.Millisecond) // the inbox takes note of it
	}
	u.Until("member_restarts", 1)
	for i, jump := range []struct {
		ahead time.Duration
		comes int // of each schedule, in all
	}{{aYear, 1}, {-aDay, 1}, {0, 2}, {aYear, 3}, {0, 3}} {
		clock.set(jump.ahead)
		u.Until("schedule", 2*jump.comes)
		clock.set(jump.ahead) // once more, for what the first look has begun
		if n := len(schedulesTold(u)); n != 2*jump.comes {
			t.Errorf("after jump %d the schedules have come %d times: %+v", i, n, schedulesTold(u))
		}
		if task, err := c.Task(t.Context(), "1"); err != nil || task.Owner != "dev" || task.Status != tasks.InProgress || task.Epoch != 1 {
			t.Errorf("after jump %d dev's task is %+v (%v)", i, task, err)
		}
	}
	u.Lines.Wait(t, "that ops comes back", func(l events.Line) bool {
		return l.Type == "task" && l.Member == "ops" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if _, err := c.AnswerInbox(t.Context(), api.InboxAnswer{ID: asked.ID, Approve: true}); err != nil {
		t.Error(err)
	}
	u.Lines.Wait(t, "dev's end", func(l events.Line) bool {
		return l.Type == "task" && l.Member == "dev" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if _, err := c.Down(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	u.End()
	for _, l := range u.Lines.All() {
		switch l.Type {
		case "watchdog", "needs_attention", "warning", "budget", "team_waits":
			t.Errorf("the jumps led to %s %s %s", l.Member, l.Type, l.Data)
		}
	}
	if u.Made() != "ran\n" {
		t.Errorf("dev's command wrote %q", u.Made())
	}
}
