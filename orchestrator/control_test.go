package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/taskpage"
	"github.com/coveyteam/covey/tasks"
)

// callers of each kind.
var (
	byOperator = process.Caller{Kind: process.Operator, PID: 1}
	byAPI      = process.Caller{Kind: process.MemberTool, Member: "api", PID: 2}
	byHook     = process.Caller{Kind: process.Hook, Member: "api", PID: 3}
	byTeamHook = process.Caller{Kind: process.Hook, PID: 4}
	byActing   = process.Caller{Kind: process.ActingHook, Member: "api", PID: 7}
	byStray    = process.Caller{Kind: process.Stray, PID: 5}
)

func TestAllowed(t *testing.T) {
	everybody := []process.Caller{byOperator, byAPI, byHook, byActing, byTeamHook, byStray}
	members := []process.Caller{byOperator, byAPI, byActing}
	operator := []process.Caller{byOperator}
	for _, c := range []struct {
		name string
		verb bus.Verb
		req  any
		may  []process.Caller
	}{
		{"ps", verbStatus, struct{}{}, everybody},
		{"wait", verbReady, struct{}{}, everybody},
		{"tasks list", verbTasks, taskpage.After{}, everybody},
		{"tasks show", verbStanding, taskID{ID: "1"}, everybody},
		{"tasks show", verbTask, taskID{"1"}, everybody},
		{"hooks list", verbHooks, struct{}{}, everybody},
		{"attach", verbAttach, struct{}{}, everybody},
		{"down", verbDown, Down{}, operator},
		{"interrupt", verbInterrupt, InterruptRequest{Member: "api"}, operator},
		{"hold", verbHold, HoldRequest{Member: "docs"}, members}, // of members the handler lets the lead alone
		{"hold as another", verbHold, HoldRequest{Member: "docs", As: "docs"}, operator},
		{"create", verbCreate, TaskCreate{}, members},
		{"create as itself", verbCreate, TaskCreate{As: "api"}, members},
		{"create as another", verbCreate, TaskCreate{As: "docs"}, operator},
		{"create by force", verbCreate, TaskCreate{Force: true}, operator},
		{"update", verbUpdate, TaskUpdate{ID: "1"}, members},
		{"update as another", verbUpdate, TaskUpdate{ID: "1", As: "docs"}, operator},
		{"update by force", verbUpdate, TaskUpdate{ID: "1", As: "api", Force: true}, operator},
		{"claim", verbClaim, TaskClaim{ID: "1"}, members},
		{"claim as itself", verbClaim, TaskClaim{ID: "1", As: "api"}, members},
		{"claim as another", verbClaim, TaskClaim{ID: "1", As: "docs"}, operator},
		{"claim by force", verbClaim, TaskClaim{ID: "1", Force: true}, operator},
		{"send", verbSend, Send{To: "docs"}, members},
		{"send as itself", verbSend, Send{To: "docs", As: "api"}, []process.Caller{byAPI, byActing}},
		{"send as another", verbSend, Send{To: "api", As: "docs"}, nil},
		{"send as the operator", verbSend, Send{To: "api", As: "operator"}, operator},
		{"call a tool", verbTool, TeamCall{Tool: mcpList}, []process.Caller{byAPI, byActing}},
		{"call a tool as itself", verbTool, TeamCall{Tool: mcpList, As: "api"}, []process.Caller{byAPI, byActing}},
		{"call a tool as another", verbTool, TeamCall{Tool: mcpList, As: "docs"}, nil},
		{"inbox", verbInbox, InboxQuery{}, everybody},
		{"inbox approve", verbAnswer, InboxAnswer{ID: "x", Approve: true}, operator},
		{"down --member", verbEnd, EndMember{Member: "docs"}, operator},
		{"something new", "approve", struct{}{}, nil},
		{"a deed that says nothing of whom for", verbClaim, struct{}{}, nil},
	} {
		for _, by := range everybody {
			err := allowed(by, c.verb, c.req)
			if may := slices.Contains(c.may, by); (err == nil) != may {
				t.Errorf("%s by %s: %v, allowed should be %v", c.name, by, err, may)
			}
			if err != nil && !errors.Is(err, ErrDenied) {
				t.Errorf("%s by %s: %v does not wrap ErrDenied", c.name, by, err)
			}
		}
	}
}

// Nobody but the operator ever acts in another's name.
func TestNobodyActsAsAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "api", "docs", "lead", "operator", "API", "api "})
		by := process.Caller{
			Kind: rapid.SampledFrom([]process.CallerKind{process.MemberTool, process.Hook,
				process.ActingHook, process.Stray, "", "self"}).Draw(t, "kind"),
			Member: name.Draw(t, "member"),
		}
		as, force := name.Draw(t, "as"), rapid.Bool().Draw(t, "force")
		for verb, req := range map[bus.Verb]any{
			verbCreate: TaskCreate{As: as, Force: force}, verbUpdate: TaskUpdate{As: as, Force: force},
			verbClaim: TaskClaim{As: as, Force: force}, verbSend: Send{As: as},
			verbTool: TeamCall{As: as},
		} {
			if allowed(by, verb, req) == nil && (by.Member == "" || as != "" && as != by.Member ||
				force && verb != verbSend && verb != verbTool) {
				t.Fatalf("%s may %s as %q, force %v", by, verb, as, force)
			}
		}
	})
}

// fakeTeam answers requests and notes what its handlers were asked.
type fakeTeam struct {
	t       testing.TB
	bus     *bus.Bus
	control *control
	path    string

	mu       sync.Mutex
	caller   process.Caller // whom the next connection is taken for
	seen     []any
	attached []int
	counted  chan struct{}
	tasks    []tasks.Task
	fail     error
	up       chan struct{}
}

func newFakeTeam(t testing.TB) *fakeTeam {
	t.Helper()
	b, err := bus.Embed(bus.Options{OnError: func(err error) { t.Logf("bus: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeTeam{t: t, bus: b, caller: byOperator, up: make(chan struct{}), counted: make(chan struct{}, 100)}
	if f.control, err = serveControl(b, f.handlers()); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "f")
	if err != nil {
		t.Fatal(err)
	}
	f.path = dir + "/s"
	if err := b.Listen(f.path, func(net.Conn) (bus.Identity, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.caller.Identity(), nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
		f.control.wait()
	})
	return f
}

// did notes a request and gives what the handler is to return.
func did[Rep any](f *fakeTeam, req any, rep Rep) (Rep, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, req)
	return rep, f.fail
}

func (f *fakeTeam) handlers() Handlers {
	one := tasks.Task{ID: "1", Subject: "one", Status: tasks.Pending}
	return Handlers{
		Status: func(context.Context) (Status, error) { return did(f, "status", Status{Team: "crew", Up: true}) },
		Ready: func(ctx context.Context) error {
			select {
			case <-f.up:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Tasks: func(context.Context) ([]tasks.Task, error) { return did(f, "tasks", f.tasks) },
		Outline: func(context.Context) ([]tasks.Outline, error) {
			return did(f, "outline", tasks.Outlines(f.tasks))
		},
		Task:   func(_ context.Context, id string) (tasks.Task, error) { return did(f, id, one) },
		Create: func(_ context.Context, r TaskCreate) (TaskReply, error) { return did(f, r, TaskReply{Task: one}) },
		Update: func(_ context.Context, r TaskUpdate) (TaskReply, error) {
			return did(f, r, TaskReply{Task: one, Refused: []string{"no"}})
		},
		Claim: func(_ context.Context, r TaskClaim) (TaskReply, error) { return did(f, r, TaskReply{Task: one}) },
		Send: func(_ context.Context, r Send) (SendReply, error) {
			return did(f, r, SendReply{Delivery: Delivered, IDs: []string{"m1"}})
		},
		Tool: func(_ context.Context, r TeamCall) (TeamAnswer, error) {
			return did(f, r, TeamAnswer{Text: "done", Structured: []byte(`{"done":true}`)})
		},
		Interrupt: func(_ context.Context, r InterruptRequest) (InterruptReply, error) {
			return did(f, r, InterruptReply{Interrupted: true, Turn: 3})
		},
		Hold: func(_ context.Context, r HoldRequest) (HoldReply, error) {
			return did(f, r, HoldReply{Member: r.Member})
		},
		Down:  func(_ context.Context, r Down) (DownReply, error) { return did(f, r, DownReply{PID: 9}) },
		Hooks: func(context.Context) ([]hooklist.Info, error) { return did(f, "hooks", []hooklist.Info(nil)) },
		Attach: func(context.Context) (AttachReply, error) {
			return did(f, "attach", AttachReply{Seq: 5,
				Journal: "j"})
		},
		Attached: func(n int) {
			f.mu.Lock()
			f.attached = append(f.attached, n)
			f.mu.Unlock()
			f.counted <- struct{}{}
		},
	}
}

// dial connects as somebody.
func (f *fakeTeam) dial(by process.Caller) *Client {
	f.t.Helper()
	f.mu.Lock()
	f.caller = by
	f.mu.Unlock()
	b, err := bus.Dial(f.t.Context(), f.path)
	if err != nil {
		f.t.Fatal(err)
	}
	c := &Client{place: state.Place{Team: "crew"}, bus: b}
	f.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return c
}

func (f *fakeTeam) last() any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) == 0 {
		return nil
	}
	return f.seen[len(f.seen)-1]
}

func TestClientAsksAndIsAnswered(t *testing.T) {
	f := newFakeTeam(t)
	c := f.dial(byOperator)
	ctx := t.Context()
	status := tasks.Completed
	for _, step := range []struct {
		name string
		ask  func() (any, error)
		seen any
		want any
	}{
		{"status", func() (any, error) { return c.Status(ctx) }, "status", Status{Team: "crew", Up: true}},
		{"task", func() (any, error) { r, err := c.Task(ctx, "1"); return r.Subject, err }, "1", "one"},
		{"create", func() (any, error) {
			r, err := c.CreateTask(ctx,
				TaskCreate{Subject: "x"})
			return r.Task.ID, err
		},
			TaskCreate{Subject: "x"}, "1"},
		{"update", func() (any, error) {
			r, err := c.UpdateTask(ctx, TaskUpdate{ID: "1", Status: &status, Force: true})
			return r.Refused, err
		}, TaskUpdate{ID: "1", Status: &status, Force: true}, []string{"no"}},
		{"claim", func() (any, error) {
			r, err := c.ClaimTask(ctx, TaskClaim{ID: "1",
				As: "docs"})
			return r.Task.ID, err
		},
			TaskClaim{ID: "1", As: "docs"}, "1"},
		{"send", func() (any, error) { return c.Send(ctx, Send{To: "api", Text: "hello"}) },
			Send{To: "api", Text: "hello"}, SendReply{Delivery: Delivered, IDs: []string{"m1"}}},
		{"hold", func() (any, error) { return c.Hold(ctx, HoldRequest{Member: "api"}) },
			HoldRequest{Member: "api"}, HoldReply{Member: "api"}},
		{"interrupt", func() (any, error) { return c.Interrupt(ctx, InterruptRequest{Member: "api"}) },
			InterruptRequest{Member: "api"}, InterruptReply{Interrupted: true, Turn: 3}},
		{"down", func() (any, error) { return c.Down(ctx, "enough") }, Down{"enough"}, DownReply{9}},
		{"hooks", func() (any, error) { r, err := c.Hooks(ctx); return len(r), err }, "hooks", 0},
	} {
		got, err := step.ask()
		if err != nil || !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s: got %+v, %v; want %+v", step.name, got, err, step.want)
		}
		if seen := f.last(); !reflect.DeepEqual(seen, step.seen) {
			t.Errorf("%s: the handler saw %+v, want %+v", step.name, seen, step.seen)
		}
	}
}

// The handlers learn whom to act for from the connection, not from the request.
func TestMembersActAsThemselves(t *testing.T) {
	f := newFakeTeam(t)
	for _, by := range []process.Caller{byAPI, byActing} {
		c := f.dial(by)
		for name, ask := range map[string]func() error{
			"create": func() error { _, err := c.CreateTask(t.Context(), TaskCreate{}); return err },
			"update": func() error { _, err := c.UpdateTask(t.Context(), TaskUpdate{}); return err },
			"claim":  func() error { _, err := c.ClaimTask(t.Context(), TaskClaim{}); return err },
			"send":   func() error { _, err := c.Send(t.Context(), Send{}); return err },
		} {
			if err := ask(); err != nil {
				t.Errorf("%s by %s: %v", name, by, err)
			}
			act, ok := f.last().(interface{ onBehalf() (string, bool) })
			if !ok {
				t.Fatalf("the handler saw %+v", f.last())
			}
			if as, _ := act.onBehalf(); as != "api" {
				t.Errorf("%s by %s: the handler was to act for %q", name, by, as)
			}
		}
	}
}

func TestDeniedRequestsReachNoHandler(t *testing.T) {
	f := newFakeTeam(t)
	for _, by := range []process.Caller{byAPI, byHook, byStray, byTeamHook} {
		c := f.dial(by)
		for name, ask := range map[string]func() error{
			"down": func() error { _, err := c.Down(t.Context(), ""); return err },
			"interrupt": func() error {
				_, err := c.Interrupt(t.Context(),
					InterruptRequest{Member: "docs"})
				return err
			},
			"claim": func() error {
				_, err := c.ClaimTask(t.Context(), TaskClaim{ID: "1",
					As: "docs"})
				return err
			},
			"send":  func() error { _, err := c.Send(t.Context(), Send{To: "lead", As: "docs"}); return err },
			"force": func() error { _, err := c.UpdateTask(t.Context(), TaskUpdate{Force: true}); return err },
		} {
			err := ask()
			if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), fmt.Sprint("process ", by.PID)) {
				t.Errorf("%s by %s: %v", name, by, err)
			}
		}
	}
	if seen := f.last(); seen != nil {
		t.Errorf("a handler was asked: %+v", seen)
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	f := newFakeTeam(t)
	c := f.dial(byOperator)
	for _, kind := range remoteKinds {
		f.mu.Lock()
		f.fail = fmt.Errorf("task 7: %w, try another", kind)
		f.mu.Unlock()
		_, err := c.Status(t.Context())
		if !errors.Is(err, kind) || err.Error() != f.fail.Error() {
			t.Errorf("%v came as %v", f.fail, err)
		}
	}
	f.mu.Lock()
	f.fail = errors.New("something else")
	f.mu.Unlock()
	if _, err := c.Status(t.Context()); err == nil || err.Error() != "something else" || errors.Is(err, ErrDenied) {
		t.Errorf("an error without a kind came as %v", err)
	}
}

func TestTooLargeRequest(t *testing.T) {
	f := newFakeTeam(t)
	c := f.dial(byOperator)
	_, err := c.Send(t.Context(), Send{To: "api", Text: strings.Repeat("x", 10<<20)})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(bus.DefaultMaxPayload)) ||
		!strings.Contains(err.Error(), "name the file") {
		t.Errorf("10 MB: %v", err)
	}
	if f.last() != nil {
		t.Error("it reached the handler")
	}
}

func TestLongTaskLists(t *testing.T) {
	f := newFakeTeam(t)
	for i := range 3000 {
		f.tasks = append(f.tasks, tasks.Task{ID: fmt.Sprint(2*i + 1), Description: strings.Repeat("d", 3000)})
	}
	f.tasks[7].Description = strings.Repeat("d", 3*taskpage.Bytes) // alone over a page, below what the bus carries
	all, err := f.dial(byStray).Tasks(t.Context())
	if err != nil || !reflect.DeepEqual(all, f.tasks) {
		t.Errorf("%d of %d tasks came, %v", len(all), len(f.tasks), err)
	}
	f.mu.Lock()
	f.tasks = nil
	f.mu.Unlock()
	if all, err := f.dial(byOperator).Tasks(t.Context()); err != nil || all == nil || len(all) != 0 {
		t.Errorf("no tasks: %v, %v", all, err)
	}
}

func TestPresence(t *testing.T) {
	f := newFakeTeam(t)
	expect := func(n int) {
		t.Helper()
		select {
		case <-f.counted:
		case <-time.After(testPatience):
			t.Fatal("the number of attached operators did not change")
		}
		if got := f.control.Attached(); got != n {
			t.Errorf("%d are attached, want %d", got, n)
		}
	}
	first, second := f.dial(byOperator), f.dial(byOperator)
	for i, c := range []*Client{first, second} {
		if rep, err := c.Attach(t.Context()); err != nil || rep != (AttachReply{Seq: 5, Journal: "j",
			Counted: true}) {
			t.Errorf("Attach = %+v, %v", rep, err)
		}
		expect(i + 1)
	}
	if _, err := first.Attach(t.Context()); err != nil { // twice is once
		t.Error(err)
	}
	for _, by := range []process.Caller{byAPI, byHook, byStray} { // they may watch, but cannot be asked
		if rep, err := f.dial(by).Attach(t.Context()); err != nil || rep.Counted {
			t.Errorf("Attach by %s = %+v, %v", by, rep, err)
		}
	}
	if got := f.control.Attached(); got != 2 {
		t.Errorf("%d are attached, want 2", got)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	expect(1)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	expect(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.attached, []int{1, 2, 1, 0}) {
		t.Errorf("reported were %v", f.attached)
	}
}

func TestWaitUp(t *testing.T) {
	f := newFakeTeam(t)
	c := f.dial(byOperator)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.WaitUp(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a team that is not up: %v", err)
	}
	close(f.up)
	if s, err := c.WaitUp(t.Context()); err != nil || !s.Up {
		t.Errorf("WaitUp = %+v, %v", s, err)
	}
}

func TestClientLearnsThatTheTeamEnded(t *testing.T) {
	f := newFakeTeam(t)
	c := f.dial(byOperator)
	wake, err := c.JournalWake()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.bus.JournalGrew(7); err != nil {
		t.Fatal(err)
	}
	select {
	case _, open := <-wake:
		if !open {
			t.Error("the news stopped")
		}
	case <-time.After(testPatience):
		t.Fatal("no news that the journal grew")
	}
	if err := f.bus.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	for open := true; open; {
		select {
		case _, open = <-wake:
		case <-time.After(testPatience):
			t.Fatal("the news did not end with the team")
		}
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("asking a team that has ended: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	other := newFakeTeam(t).dial(byOperator)
	if err := other.Wait(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v", err)
	}
}

func TestDialByPlace(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	if _, err := Dial(t.Context(), p); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "covey up") {
		t.Errorf("a team whose process is gone: %v", err)
	}
	if err := state.NewRunFile(p, testTime, controlProtocol).Write(p); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), p); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a team that does not listen yet: %v", err)
	}
	b, err := bus.Embed(bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	refuse := errors.New("you are user 7")
	if err := b.Listen(p.Socket(), func(net.Conn) (bus.Identity, error) {
		return bus.Identity{},
			refuse
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), p); !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "user 7") {
		t.Errorf("a team that refuses us: %v", err)
	}
}

func TestControlLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("team", func(t *testing.T) {
		f := newFakeTeam(t)
		c := f.dial(byOperator)
		if _, err := c.Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.JournalWake(); err != nil {
			t.Fatal(err)
		}
	})
	goleak.VerifyNone(t, before)
}

// BenchmarkCommand is what a command pays to find a running team, reach it and
// ask once, beside starting up.
func BenchmarkCommand(b *testing.B) {
	b.Setenv("COVEY_STATE_HOME", b.TempDir())
	work := b.TempDir()
	p, err := state.PlaceOf("crew", work)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(p.Create(), state.NewRunFile(p, testTime, controlProtocol).Write(p)); err != nil {
		b.Fatal(err)
	}
	team, err := bus.Embed(bus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer team.Close()
	f := &fakeTeam{up: make(chan struct{})}
	if _, err := serveControl(team, f.handlers()); err != nil {
		b.Fatal(err)
	}
	if err := team.Listen(p.Socket(), process.New("").Identify); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		found, err := state.Find(work, "")
		if err != nil {
			b.Fatal(err)
		}
		c, err := Dial(b.Context(), found)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Status(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
