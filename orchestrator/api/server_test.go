package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// patience is how long a test waits for what takes no time.
const patience = 2 * time.Minute

// runBegan is when the teams of tests came up.
var runBegan = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

// endedTeam is the place of a team, in a state home of its own, whose process is gone.
func endedTeam(t *testing.T) state.Place {
	t.Helper()
	p, err := state.PlaceIn(t.TempDir(), "crew", t.TempDir())
	testkit.Must(t, err)
	testkit.Must(t, p.Create())
	r := state.NewRunFile(p, runBegan, Protocol)
	r.PID, r.Birth = 1<<30, "dead" // nobody has such a pid
	testkit.Must(t, r.Write(p))
	return p
}

// callers of each kind.
var (
	byOperator = process.Caller{Kind: process.Operator, PID: 1}
	byAPI      = process.Caller{Kind: process.MemberTool, Member: "api", PID: 2}
	byHook     = process.Caller{Kind: process.Hook, Member: "api", PID: 3}
	byTeamHook = process.Caller{Kind: process.Hook, PID: 4}
	byActing   = process.Caller{Kind: process.ActingHook, Member: "api", PID: 7}
	byStray    = process.Caller{Kind: process.Unowned, PID: 5}
)

// asking says of a caller whether it may send a request.
func asking[Req, Rep any](v Verb[Req, Rep], r Req) func(process.Caller) error {
	return func(by process.Caller) error { return v.may(by, r) }
}

func TestAllowed(t *testing.T) {
	everybody := []process.Caller{byOperator, byAPI, byHook, byActing, byTeamHook, byStray}
	members := []process.Caller{byOperator, byAPI, byActing}
	operator := []process.Caller{byOperator}
	for _, c := range []struct {
		name string
		ask  func(by process.Caller) error
		may  []process.Caller
	}{
		{"ps", asking(VerbStatus, StatusQuery{}), everybody},
		{"wait", asking(VerbReady, struct{}{}), everybody},
		{"tasks list", asking(VerbTasks, TaskQuery{}), everybody},
		{"tasks show", asking(VerbStanding, TaskRef{ID: "1"}), everybody},
		{"tasks show", asking(VerbTask, TaskRef{"1"}), everybody},
		{"hooks list", asking(VerbHooks, struct{}{}), everybody},
		{"attach", asking(VerbAttach, struct{}{}), everybody},
		{"down", asking(VerbDown, Down{}), operator},
		{"interrupt", asking(VerbInterrupt, InterruptRequest{Member: "api"}), operator},
		{"hold", asking(VerbHold, HoldRequest{Member: "docs"}), members}, // of members the handler lets the lead alone
		{"hold as another", asking(VerbHold, HoldRequest{Member: "docs", As: "docs"}), operator},
		{"create", asking(VerbCreate, TaskCreate{}), members},
		{"create as itself", asking(VerbCreate, TaskCreate{As: "api"}), members},
		{"create as another", asking(VerbCreate, TaskCreate{As: "docs"}), operator},
		{"create by force", asking(VerbCreate, TaskCreate{Force: true}), operator},
		{"update", asking(VerbUpdate, TaskUpdate{ID: "1"}), members},
		{"update as another", asking(VerbUpdate, TaskUpdate{ID: "1", As: "docs"}), operator},
		{"update by force", asking(VerbUpdate, TaskUpdate{ID: "1", As: "api", Force: true}), operator},
		{"claim", asking(VerbClaim, TaskClaim{ID: "1"}), members},
		{"claim as itself", asking(VerbClaim, TaskClaim{ID: "1", As: "api"}), members},
		{"claim as another", asking(VerbClaim, TaskClaim{ID: "1", As: "docs"}), operator},
		{"claim by force", asking(VerbClaim, TaskClaim{ID: "1", Force: true}), operator},
		{"send", asking(VerbSend, Send{To: "docs"}), members},
		{"send as itself", asking(VerbSend, Send{To: "docs", As: "api"}), []process.Caller{byAPI, byActing}},
		{"send as another", asking(VerbSend, Send{To: "api", As: "docs"}), nil},
		{"send as the operator", asking(VerbSend, Send{To: "api", As: "operator"}), operator},
		{"call a tool", asking(VerbTool, TeamCall{Tool: "team_list"}), []process.Caller{byAPI, byActing}},
		{"call a tool as itself", asking(VerbTool, TeamCall{Tool: "team_list", As: "api"}), []process.Caller{byAPI, byActing}},
		{"call a tool as another", asking(VerbTool, TeamCall{Tool: "team_list", As: "docs"}), nil},
		{"inbox", asking(VerbInbox, InboxQuery{}), everybody},
		{"what needs a person", asking(VerbNeeds, struct{}{}), everybody},
		{"inbox approve", asking(VerbAnswer, InboxAnswer{ID: "x", Approve: true}), operator},
		{"down --member", asking(VerbEnd, EndMember{Member: "docs"}), operator},
	} {
		for _, by := range everybody {
			err := c.ask(by)
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
				process.ActingHook, process.Unowned, "", "self"}).Draw(t, "kind"),
			Member: name.Draw(t, "member"),
		}
		as, force := name.Draw(t, "as"), rapid.Bool().Draw(t, "force")
		for name, ask := range map[string]func(process.Caller) error{
			"create": asking(VerbCreate, TaskCreate{As: as, Force: force}),
			"update": asking(VerbUpdate, TaskUpdate{As: as, Force: force}),
			"claim":  asking(VerbClaim, TaskClaim{As: as, Force: force}),
			"send":   asking(VerbSend, Send{As: as}), "tool": asking(VerbTool, TeamCall{As: as}),
		} {
			if ask(by) == nil && (by.Member == "" || as != "" && as != by.Member ||
				force && name != "send" && name != "tool") {
				t.Fatalf("%s may %s as %q, force %v", by, name, as, force)
			}
		}
	})
}

// fakeTeam answers requests and notes what its handlers were asked.
type fakeTeam struct {
	t       testing.TB
	bus     *bus.Bus
	control *Server
	path    string

	mu     sync.Mutex
	caller process.Caller // whom the next connection is taken for
	seen   []any
	tasks  []tasks.Task
	fail   error
	up     chan struct{}
}

func newFakeTeam(t testing.TB) *fakeTeam {
	t.Helper()
	b, err := bus.Embed(bus.Options{OnError: func(err error) { t.Logf("bus: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeTeam{t: t, bus: b, caller: byOperator, up: make(chan struct{})}
	f.control = NewServer()
	if err := f.control.Serve(b, noChecks(), f.handlers()...); err != nil {
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
		return Identity(f.caller), nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
		f.control.Wait()
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

// noChecks let everything pass.
func noChecks() Checks {
	return Checks{
		Member: func(context.Context, string, any) error { return nil },
		Hook:   func(ctx context.Context, _ process.Caller) (context.Context, error) { return ctx, nil },
	}
}

// noting is a handler of f that notes the request and answers the same to each.
func noting[Req, Rep any](f *fakeTeam, v Verb[Req, Rep], rep Rep) Handler {
	return v.Handle(func(_ context.Context, r Req) (Rep, error) { return did(f, r, rep) })
}

func (f *fakeTeam) handlers() []Handler {
	one, up := tasks.Task{ID: "1", Subject: "one", Status: tasks.Pending}, Status{Team: "crew", Up: true}
	return []Handler{
		VerbStatus.Handle(func(context.Context, StatusQuery) (Status, error) { return did(f, "status", up) }),
		VerbReady.Handle(func(ctx context.Context, _ struct{}) (Status, error) {
			select {
			case <-f.up:
				return up, nil
			case <-ctx.Done():
				return Status{}, ctx.Err()
			}
		}),
		VerbTasks.Handle(ListTasks(
			func(context.Context) ([]tasks.Task, error) { return did(f, "tasks", f.tasks) },
			func(context.Context) ([]tasks.Outline, error) { return did(f, "outline", tasks.Outlines(f.tasks)) },
		)),
		noting(f, VerbTask, one),
		noting(f, VerbCreate, TaskReply{Task: one}),
		noting(f, VerbUpdate, TaskReply{Task: one, Refused: []string{"no"}}),
		noting(f, VerbClaim, TaskReply{Task: one}),
		noting(f, VerbSend, SendReply{Delivery: Delivered, IDs: []string{"m1"}}),
		noting(f, VerbTool, TeamAnswer{Text: "done", Structured: []byte(`{"done":true}`)}),
		noting(f, VerbInterrupt, InterruptReply{Interrupted: true, Turn: 3}),
		noting(f, VerbHold, HoldReply{Member: "api"}),
		noting(f, VerbDown, DownReply{PID: 9}),
		noting(f, VerbHooks, []Hook(nil)),
		HandleAttach(func(context.Context) (AttachReply, error) { return did(f, "attach", AttachReply{Seq: 5, Journal: "j"}) }),
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
	t.Parallel()
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
		{"task", func() (any, error) { r, err := c.Task(ctx, "1"); return r.Subject, err }, TaskRef{ID: "1"}, "one"},
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
		{"hooks", func() (any, error) { r, err := c.Hooks(ctx); return len(r), err }, struct{}{}, 0},
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	f := newFakeTeam(t)
	c := f.dial(byOperator)
	for _, k := range remoteKinds() {
		kind := k.kind
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
	t.Parallel()
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
	t.Parallel()
	f := newFakeTeam(t)
	for i := range 3000 {
		f.tasks = append(f.tasks, tasks.Task{ID: fmt.Sprint(2*i + 1), Description: strings.Repeat("d", 3000)})
	}
	f.tasks[7].Description = strings.Repeat("d", 3*pageBytes) // alone over a page, below what the bus carries
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
	t.Parallel()
	f := newFakeTeam(t)
	expect := func(n int) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprint(n, " to be attached"), func() bool { return f.control.Attached() == n })
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
}

func TestWaitUp(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	case <-time.After(patience):
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
		case <-time.After(patience):
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
	t.Parallel()
	p := endedTeam(t)
	if _, err := Dial(t.Context(), p); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "covey up") {
		t.Errorf("a team whose process is gone: %v", err)
	}
	if err := state.NewRunFile(p, runBegan, Protocol).Write(p); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), p); err == nil || errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "moved or removed") {
		t.Errorf("a team that runs, but whose socket is gone: %v", err)
	}
	testkit.Must(t, os.MkdirAll(filepath.Dir(p.Socket()), 0o700))
	l, err := net.Listen("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	hungUp := make(chan error)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.Close() // as the kernel does for a process that is killed
		}
		hungUp <- err
	}()
	if _, err := Dial(t.Context(), p); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a team that is killed while it is asked: %v", err)
	}
	if err := errors.Join(<-hungUp, l.Close()); err != nil {
		t.Fatal(err)
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
	if err := errors.Join(p.Create(), state.NewRunFile(p, runBegan, Protocol).Write(p)); err != nil {
		b.Fatal(err)
	}
	team, err := bus.Embed(bus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer team.Close()
	f := &fakeTeam{up: make(chan struct{})}
	if err := NewServer().Serve(team, noChecks(), f.handlers()...); err != nil {
		b.Fatal(err)
	}
	if err := (&Sockets{Bus: team, Place: p, Processes: process.New(process.Unmarked)}).Listen(); err != nil {
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
