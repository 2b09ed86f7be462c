package teamtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks/requests"
)

// Client reaches the running team as the person who runs this test.
func (u *Underway) Client() *api.Client {
	u.T.Helper()
	c, err := api.Dial(u.T.Context(), u.O.Place())
	if err != nil {
		u.T.Fatal(err)
	}
	u.T.Cleanup(func() { _ = c.Close() })
	return c
}

// Asked waits for the next open request of a kind.
func (u *Underway) Asked(kind requests.Kind) requests.Request {
	u.T.Helper()
	l := u.Lines.Wait(u.T, "a request of kind "+string(kind), func(l events.Line) bool {
		r, ok := RequestOf(l)
		return ok && r.Kind == kind && r.Open()
	})
	r, _ := RequestOf(l)
	return r
}

// RequestOf reads a journal line about a request.
func RequestOf(l events.Line) (requests.Request, bool) {
	r, ok := l.Event().Data.(events.RequestChanged)
	return r.Request, ok
}

// Made is what dev's command has written; empty: it did not run.
func (r *Rig) Made() string {
	data, err := os.ReadFile(filepath.Join(r.Dir, "made"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.T.Fatal(err)
	}
	return string(data)
}

// HandClock is the machine's clock, put forward by hand. A still one does not go on by
// itself, so that no pause ends before the test has seen it.
type HandClock struct {
	Still     bool
	Unwatched bool // the watchdog's rounds take as long as they are
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

func (c *HandClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moment()
}

// moment returns what the clock shows; the caller holds mu.
func (c *HandClock) moment() time.Time {
	if !c.Still || c.begun.IsZero() {
		c.begun = time.Now()
	}
	return c.begun.Add(c.ahead)
}

// after may ring too early, as the crew's sleep may: the clock can be put
// forward between a look at it and the call.
func (c *HandClock) after(d time.Duration) <-chan time.Time {
	t := handTimer{c.now().Add(d), make(chan time.Time, 1)}
	early := min(d, 200*time.Millisecond)
	if c.Unwatched && d == members.WatchInterval {
		early = d
	}
	time.AfterFunc(early, t.fire)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers = append(c.timers, t)
	return t.ring
}

// Forward puts the clock forward; timers that are due by then ring.
func (c *HandClock) Forward(d time.Duration) {
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

// Underway is a run of a team whose clock the test has in its hand.
type Underway struct {
	*Rig
	Clock  *HandClock
	Stop   context.CancelCauseFunc
	O      *orchestrator.Orchestrator
	Ending chan orchestrator.Ending
	Failed chan error
}

// Start starts the team of a rig; edits change its options before.
func Start(r *Rig, clock *HandClock, edits ...func(*orchestrator.Options)) *Underway {
	r.T.Helper()
	ctx, stop := context.WithCancelCause(r.T.Context())
	u := &Underway{Rig: r, Clock: clock, Stop: stop, Ending: make(chan orchestrator.Ending, 1), Failed: make(chan error, 1)}
	opts := orchestrator.Options{Overrides: orchestrator.Overrides{Clock: clock.Clock()}}
	for _, edit := range edits {
		edit(&opts)
	}
	u.O = r.Orchestrator(opts)
	over := make(chan struct{})
	go func() {
		defer close(over)
		e, err := u.O.Run(ctx)
		u.Ending <- e
		u.Failed <- err
	}()
	r.T.Cleanup(func() { // the team writes into folders that are removed next
		stop(errors.New("the test is over"))
		select {
		case <-over:
		case <-time.After(testkit.Patience):
			r.T.Error("the team does not end")
		}
	})
	return u
}

func (c *HandClock) Clock() members.Clock { return members.Clock{TimeNow: c.now, TimeAfter: c.after} }

// End waits for the end of the run.
func (u *Underway) End() orchestrator.Ending {
	u.T.Helper()
	select {
	case e := <-u.Ending:
		if err := <-u.Failed; err != nil {
			u.T.Fatalf("Run: %v\n%s", err, Show(u.Lines.All()))
		}
		return e
	case <-time.After(testkit.Patience):
		u.T.Fatalf("the team did not end:\n%s", Show(u.Lines.All()))
	}
	return orchestrator.Ending{}
}

// Until waits for the n-th line of a type.
func (u *Underway) Until(typ string, n int) {
	u.T.Helper()
	seen := map[uint64]bool{}
	u.Lines.Wait(u.T, fmt.Sprintf("%s number %d", typ, n), func(l events.Line) bool {
		if l.Type == typ {
			seen[l.Seq] = true
		}
		return l.Type == typ && len(seen) == n
	})
}

// Member is a member's state as `covey ps` shows it.
func (u *Underway) Member(name string) api.MemberStatus {
	u.T.Helper()
	client, err := api.Dial(u.T.Context(), u.O.Place())
	if err != nil {
		u.T.Fatal(err)
	}
	defer client.Close()
	st, err := client.Status(u.T.Context())
	if err != nil {
		u.T.Fatal(err)
	}
	i := slices.IndexFunc(st.Members, func(m api.MemberStatus) bool { return m.Name == name })
	return st.Members[i]
}

const (
	OwnedByDev = "tasks: [{id: a, subject: One, owner: dev}]\n"
	InHours    = "error -32603 You have reached your usage limit. Try again in 3 hours."
	NoTime     = "error -32603 You have reached your usage limit."
	Finishes   = `mcp team_task_update {"taskId":"1","status":"completed"}`
	Claims     = `mcp team_task_claim {"taskId":"1"}`
)

// KillAt runs the team in a process of its own, which kills itself with SIGKILL at the first
// line of the journal of this type that is dev's or the team's: from outside, the kill could
// come when the team has long gone on. It reports whether there was such a line.
func (r *Rig) KillAt(typ string) (found bool) {
	r.T.Helper()
	cmd := r.OwnProcess()
	cmd.Env = append(cmd.Env, crashLineVariable+"="+typ)
	late := time.AfterFunc(testkit.Patience, func() { r.T.Errorf("no line of type %s came in %v", typ, testkit.Patience); _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.T.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.ExitCode() < 0
}

// RetryLimit is how many times in a row a failed turn is tried again, and longRest
// the longest pause before that.
const (
	RetryLimit = 8
	LongRest   = 2 * time.Minute
)

// GoThrough lets the pauses after so many failed turns pass, from the n-th on.
func (u *Underway) GoThrough(from, to int) {
	u.T.Helper()
	for n := from; n <= to; n++ {
		u.Until("turn_failed", n)
		u.Clock.Forward(LongRest)
	}
}
