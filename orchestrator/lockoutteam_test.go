package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/teammate/agent"
)

// handClock is the machine's clock, put forward by hand. A still one does not go on by
// itself, so that no pause ends before the test has seen it.
type handClock struct {
	still     bool
	unwatched bool // the watchdog's rounds take as long as they are
	mu        sync.Mutex
	begun     time.Time // when a still clock was read first
	ahead     time.Duration
	timers    []handTimer
}

type handTimer struct {
	at   time.Time
	ring chan time.Time
}

// fire rings, unless the timer rings already.
func (t handTimer) fire() {
	select {
	case t.ring <- t.at:
	default:
	}
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moment()
}

// moment returns what the clock shows; the caller holds mu.
func (c *handClock) moment() time.Time {
	if !c.still || c.begun.IsZero() {
		c.begun = time.Now()
	}
	return c.begun.Add(c.ahead)
}

// after may ring too early, as the crew's sleep may: the clock can be put
// forward between a look at it and the call.
func (c *handClock) after(d time.Duration) <-chan time.Time {
	t := handTimer{c.now().Add(d), make(chan time.Time, 1)}
	early := min(d, 200*time.Millisecond)
	if c.unwatched && d == members.WatchInterval {
		early = d
	}
	time.AfterFunc(early, t.fire)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers = append(c.timers, t)
	return t.ring
}

// forward puts the clock forward; timers that are due by then ring.
func (c *handClock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	now := c.moment()
	for _, t := range c.timers {
		if !t.at.After(now) {
			t.fire()
		}
	}
}

// underway is a run of a team whose clock the test has in its hand.
type underway struct {
	*rig
	clock  *handClock
	stop   context.CancelCauseFunc
	o      *Orchestrator
	ending chan Ending
	failed chan error
}

// start starts the team of a rig; edits change its options before.
func start(r *rig, clock *handClock, edits ...func(*Options)) *underway {
	r.t.Helper()
	ctx, stop := context.WithCancelCause(r.t.Context())
	u := &underway{rig: r, clock: clock, stop: stop, ending: make(chan Ending, 1), failed: make(chan error, 1)}
	opts := Options{Overrides: Overrides{Clock: clock.clock()}}
	for _, edit := range edits {
		edit(&opts)
	}
	u.o = r.orchestrator(opts)
	over := make(chan struct{})
	go func() {
		defer close(over)
		e, err := u.o.Run(ctx)
		u.ending <- e
		u.failed <- err
	}()
	r.t.Cleanup(func() { // the team writes into folders that are removed next
		stop(errors.New("the test is over"))
		select {
		case <-over:
		case <-time.After(testkit.Patience):
			r.t.Error("the team does not end")
		}
	})
	return u
}

func (c *handClock) clock() members.Clock { return members.Clock{TimeNow: c.now, TimeAfter: c.after} }

// end waits for the end of the run.
func (u *underway) end() Ending {
	u.t.Helper()
	select {
	case e := <-u.ending:
		if err := <-u.failed; err != nil {
			u.t.Fatalf("Run: %v\n%s", err, show(u.lines.All()))
		}
		return e
	case <-time.After(testkit.Patience):
		u.t.Fatalf("the team did not end:\n%s", show(u.lines.All()))
	}
	return Ending{}
}

// until waits for the n-th line of a type.
func (u *underway) until(typ string, n int) {
	u.t.Helper()
	seen := map[uint64]bool{}
	u.lines.Wait(u.t, fmt.Sprintf("%s number %d", typ, n), func(l events.Line) bool {
		if l.Type == typ {
			seen[l.Seq] = true
		}
		return l.Type == typ && len(seen) == n
	})
}

// member is a member's state as `covey ps` shows it.
func (u *underway) member(name string) api.MemberStatus {
	u.t.Helper()
	client, err := api.Dial(u.t.Context(), u.o.Place())
	if err != nil {
		u.t.Fatal(err)
	}
	defer client.Close()
	st, err := client.Status(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	i := slices.IndexFunc(st.Members, func(m api.MemberStatus) bool { return m.Name == name })
	return st.Members[i]
}

const (
	ownedByDev = "tasks: [{id: a, subject: One, owner: dev}]\n"
	inHours    = "error -32603 You have reached your usage limit. Try again in 3 hours."
	noTime     = "error -32603 You have reached your usage limit."
	finishes   = `mcp team_task_update {"taskId":"1","status":"completed"}`
	claims     = `mcp team_task_claim {"taskId":"1"}`
)

// A member that reaches its limit keeps its task, is left alone until the time
// that its agent named, and then goes on with what it was asked.
func TestUsageLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, leadLetsWork, ownedByDev,
		act{When: "You own task #1", Do: []string{claims, inHours}},
		act{When: agent.GoOn, Do: []string{finishes, "say One is done."}})
	u := start(r, &handClock{})
	u.until("team_waits", 1)
	if m := u.member("dev"); m.State != api.Limited || m.Task != "1" ||
		m.LimitedUntil.Before(time.Now().Add(2*time.Hour)) {
		t.Errorf("dev is %+v", m)
	}
	u.clock.forward(2 * time.Hour)
	if m := u.member("dev"); m.State != api.Limited {
		t.Errorf("an hour too early dev is %+v", m)
	}
	u.clock.forward(time.Hour)
	r.want(u.end(), CodeDone, "all work is done")
	prompts := toldFake(t, dir, "prompt")
	if len(prompts) != 2 || !strings.Contains(prompts[1], "You own task #1") {
		t.Errorf("the program was asked\n%s", strings.Join(prompts, "\n"))
	}
	ends := of[events.TurnEnded](r, "turn_ended")
	if !slices.ContainsFunc(ends, func(e events.TurnEnded) bool { return e.Reason == events.EndUsageLimit }) {
		t.Errorf("the turns ended so: %+v", ends)
	}
	limits := of[events.Limited](r, "limited")
	if len(limits) != 1 || limits[0].Agent != "fake" || !limits[0].Known {
		t.Errorf("limits %+v", limits)
	}
	if n := toldLead(r, "Teammate dev waits: usage limit of fake reached"); n != 1 {
		t.Errorf("the lead was told %d times", n)
	}
}

// toldLead counts the notices in the lead's mail that hold words.
func toldLead(r *rig, words string) (n int) {
	for _, m := range of[struct{ To, Text string }](r, "message") {
		if m.To == "lead" && strings.Contains(m.Text, words) {
			n++
		}
	}
	return n
}

// Where no time is known the waits grow, and the lead hears of it once.
func TestUnknownLimitIsTriedSeldom(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, leadLetsWork, ownedByDev,
		act{When: "You own task #1", Do: []string{claims, noTime}},
		act{When: agent.GoOn, Do: []string{noTime}},
		act{When: agent.GoOn, Do: []string{finishes}})
	u := start(r, &handClock{})
	u.until("team_waits", 1)
	u.clock.forward(15 * time.Minute)
	u.until("team_waits", 2)
	u.clock.forward(15 * time.Minute)
	if m := u.member("dev"); m.State != api.Limited {
		t.Errorf("after another quarter of an hour dev is %+v", m)
	}
	u.clock.forward(15 * time.Minute)
	r.want(u.end(), CodeDone, "all work is done")
	if n := len(toldFake(t, dir, "prompt")); n != 3 {
		t.Errorf("the program was asked %d times", n)
	}
	if n := toldLead(r, "Teammate dev waits: usage limit of fake reached; it tries again"); n != 1 {
		t.Errorf("the lead was told %d times", n)
	}
}

// A covey that is stopped, or dies, waits on when it is started again.
func TestUsageLimitOverARestart(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, leadLetsWork, ownedByDev,
		act{When: "You own task #1", Do: []string{claims, inHours}},
		act{When: agent.GoOn, Do: []string{finishes}})
	clock := &handClock{}
	u := start(r, clock)
	u.until("team_waits", 1)
	u.stop(errors.New("enough"))
	e := u.end()
	r.want(e, CodeInterrupted, "interrupted")
	if dev := e.Members[1]; dev.State != api.Limited || len(e.Problems) != 1 || !strings.Contains(e.Problems[0],
		"it goes on at") {
		t.Errorf("it ended with %+v, problems %q", dev, e.Problems)
	}
	u = start(r, clock)
	u.until("team_waits", 1)
	if m := u.member("dev"); m.State != api.Limited || len(toldFake(t, dir, "prompt")) != 1 {
		t.Errorf("after the restart dev is %+v, and was asked %q", m, toldFake(t, dir, "prompt"))
	}
	clock.forward(3 * time.Hour)
	r.want(u.end(), CodeDone, "all work is done")
	if prompts := toldFake(t, dir, "prompt"); len(prompts) != 2 || !strings.Contains(prompts[1], "You own task #1") {
		t.Errorf("the program was asked\n%s", strings.Join(prompts, "\n"))
	}
}

// A person can have a member try at once, by a message or an interrupt; mail of
// members waits.
func TestAPersonEndsTheWait(t *testing.T) {
	t.Parallel()
	for name, nudge := range map[string]func(*api.Client) error{
		"send": func(c *api.Client) error {
			reply, err := c.Send(context.Background(), api.Send{To: "dev", Text: "I paid."})
			if err == nil && reply.Delivery != api.Delivered {
				err = fmt.Errorf("the text was %s", reply.Delivery)
			}
			return err
		},
		"interrupt": func(c *api.Client) error {
			reply, err := c.Interrupt(context.Background(), api.InterruptRequest{Member: "dev"})
			if err == nil && (!reply.Retries || reply.Interrupted) {
				err = fmt.Errorf("the answer was %+v", reply)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newFakeRig(t, leadLetsWork, ownedByDev,
				act{When: "You own task #1", Do: []string{claims, inHours}},
				act{When: agent.GoOn, Do: []string{inHours}},
				act{When: agent.GoOn, Do: []string{finishes}})
			u := start(r, &handClock{})
			for n := range 2 {
				u.until("team_waits", n+1)
				client, err := api.Dial(t.Context(), u.o.Place())
				if err != nil {
					t.Fatal(err)
				}
				if err := nudge(client); err != nil {
					t.Error(err)
				}
				client.Close()
			}
			r.want(u.end(), CodeDone, "all work is done")
			if n := len(toldFake(t, dir, "prompt")); n != 3 {
				t.Errorf("the program was asked %d times", n)
			}
			if n := toldLead(r, "Teammate dev waits"); n != 1 {
				t.Errorf("the lead was told %d times", n)
			}
		})
	}
}

// Without a login only a person can help: the team ends and says how, and the
// next run tries again.
func TestLoggedOutMember(t *testing.T) {
	t.Parallel()
	r, dir := newFakeRig(t, leadLetsWork, ownedByDev,
		act{When: "You own task #1", Do: []string{claims, "error -32000 Authentication required"}},
		act{When: agent.GoOn, Do: []string{finishes}})
	e := start(r, &handClock{}).end()
	r.want(e, CodeUnfinished, "dev needs attention: fake is not logged in")
	if dev := e.Members[1]; dev.State != api.LoggedOut || !strings.Contains(dev.Reason, "then `covey up`") {
		t.Errorf("it ended with %+v", dev)
	}
	if needs := of[events.NeedsAttention](r, "needs_attention"); len(needs) != 1 ||
		!strings.Contains(needs[0].Reason, "then `covey send dev \"go on\"`") {
		t.Errorf("people were told %+v", needs)
	}
	if n := len(toldFake(t, dir, "prompt")); n != 1 {
		t.Errorf("the program was asked %d times", n)
	}
	if list := r.list(); list[0].Owner != "dev" {
		t.Errorf("its task is %+v", list[0])
	}
	r.want(start(r, &handClock{}).end(), CodeDone, "all work is done")
}

// The lead's last report waits for its limit like everything else.
func TestLimitOnTheLastReport(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, "steps: []", "",
		act{When: "Ship it", Do: []string{`mcp team_task_create {"subject":"One","description":"Do it."}`,
			claims, finishes, "say Did it."}},
		act{When: "All tasks are completed", Do: []string{inHours}},
		act{When: agent.GoOn, Do: []string{"say All is well."}})
	r.rewrite("team.yaml", "lead: {model: lead}\n", "lead: {agent: fake}\n")
	r.rewrite("team.yaml", "teammates:\n  dev: {agent: fake}\n", "")
	u := start(r, &handClock{})
	u.until("team_waits", 1)
	u.clock.forward(3 * time.Hour)
	e := u.end()
	r.want(e, CodeDone, "all work is done")
	if e.Answer != "All is well." {
		t.Errorf("the last answer is %q", e.Answer)
	}
}

// Of the members that share a login no more are in a turn at once than it
// bears; the others wait and say so, and all get through.
func TestParallel(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, leadLetsWork, "  api: {agent: fake}\n  ops: {agent: fake}\n"+
		"tasks: [{id: a, subject: One}, {id: b, subject: Two, owner: api}, {id: c, subject: Three, owner: ops}, {id: d, subject: Four, owner: dev}]\n",
		act{When: "task #1", Do: []string{`mcp team_task_update {"taskId":"1","status":"completed"}`}},
		act{When: "task #2", Do: []string{`mcp team_task_update {"taskId":"2","status":"completed"}`}},
		act{When: "task #3", Do: []string{`mcp team_task_update {"taskId":"3","status":"completed"}`}},
		act{When: "task #4", Do: []string{`mcp team_task_update {"taskId":"4","status":"completed"}`}})
	r.rewrite("team.yaml", "{use: acp,", "{use: acp, parallel: 1,")
	r.want(start(r, &handClock{}).end(), CodeDone, "all work is done")
	inside, waited := "", 0
	for _, l := range r.lines.All() {
		switch {
		case l.Member == "lead":
		case l.Type == "waiting":
			waited++
			var w events.Waiting
			if json.Unmarshal(l.Data, &w) != nil || w.For != "a slot of fake" && w.For != "" { // which ends it
				t.Errorf("%s waits for %q", l.Member, w.For)
			}
		case l.Type == "turn_started" && inside != "":
			t.Errorf("%s begins a turn while %s is in one", l.Member, inside)
		case l.Type == "turn_started":
			inside = l.Member
		case l.Type == "turn_ended":
			inside = ""
		}
	}
	if waited == 0 {
		t.Error("nobody had to wait")
	}
}

// A stop does not wait for a slot.
func TestStopWhileWaitingForASlot(t *testing.T) {
	t.Parallel()
	r, _ := newFakeRig(t, leadLetsWork, "  api: {agent: fake}\n"+
		"tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: api}]\n",
		act{When: "You own task", Do: []string{"hang"}})
	r.rewrite("team.yaml", "{use: acp,", "{use: acp, parallel: 1,")
	u := start(r, &handClock{})
	line := u.lines.Wait(t, "a wait", func(l events.Line) bool { return l.Type == "waiting" })
	if m := u.member(line.Member); m.State != api.Waiting || m.WaitsFor != "a slot of fake" {
		t.Errorf("%s is %+v", line.Member, m)
	}
	u.stop(errors.New("enough"))
	r.want(u.end(), CodeInterrupted, "interrupted")
}

// killAt runs the team in a process of its own, which kills itself with SIGKILL at the first
// line of the journal of this type that is dev's or the team's: from outside, the kill could
// come when the team has long gone on. It reports whether there was such a line.
func (r *rig) killAt(typ string) (found bool) {
	r.t.Helper()
	cmd := r.ownProcess()
	cmd.Env = append(cmd.Env, crashLineVariable+"="+typ)
	late := time.AfterFunc(testkit.Patience, func() { r.t.Errorf("no line of type %s came in %v", typ, testkit.Patience); _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.ExitCode() < 0
}

// Wherever covey is killed around the moment of a limit, the member's task is
// done in the end, and once the limit stands in the store nobody knocks early.
func TestKilledAroundALimit(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"limited", "turn_ended", "idle", "team_waits"} {
		t.Run(typ, func(t *testing.T) {
			r, dir := newFakeRig(t, leadLetsWork, ownedByDev,
				act{When: "You own task #1", Do: []string{claims, inHours}},
				act{When: "Go on", Do: []string{finishes}})
			if !r.killAt(typ) {
				t.Fatal("the team ended before")
			}
			u := start(r, &handClock{})
			if typ == "team_waits" {
				u.until("team_waits", 1)
				if prompts := toldFake(t, dir, "prompt"); len(prompts) != 1 {
					t.Errorf("too early the program was asked %q", prompts[1:])
				}
			}
			u.clock.forward(3 * time.Hour)
			r.want(u.end(), CodeDone, "all work is done")
			if prompts := toldFake(t, dir, "prompt"); len(prompts) > 3 {
				t.Errorf("the program was asked %d times: %q", len(prompts), prompts)
			}
		})
	}
}
