package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/taskpage"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// The requests that a running team answers.
const (
	verbStatus    bus.Verb = "status"
	verbReady     bus.Verb = "ready"
	verbTasks     bus.Verb = "tasks"
	verbTask      bus.Verb = "task"
	verbCreate    bus.Verb = "task-create"
	verbUpdate    bus.Verb = "task-update"
	verbClaim     bus.Verb = "task-claim"
	verbSend      bus.Verb = "send"
	verbTool      bus.Verb = "tool"
	verbInterrupt bus.Verb = "interrupt"
	verbHold      bus.Verb = "hold"
	verbDown      bus.Verb = "down"
	verbHooks     bus.Verb = "hooks"
	verbAttach    bus.Verb = "attach"
	verbReload    bus.Verb = "reload"
	verbMerge     bus.Verb = "merge"
	verbReview    bus.Verb = "review"
	verbStanding  bus.Verb = "standing"
	verbReshape   bus.Verb = "reshape"
	verbTrust     bus.Verb = "trust"   // an operator is about to change an entry of trust.json
	verbTrusted   bus.Verb = "trusted" // whether an entry counts
)

// maxCallerConns is how many connections to the control socket a member may have, or whoever else is
// not the operator. A command has one.
const maxCallerConns = 32

// Requests that only the wire knows.
type (
	taskID struct {
		ID string `json:"id"`
	}
)

// Handlers do what requests ask for. All are required but Guard, Within and Attached. Who may
// ask for what has been checked before they are called, and the As of a
// request is whom to act for: empty means the operator, else it is a member's
// name that the caller may use. An error's text is shown to the caller.
type Handlers struct {
	Status    func(context.Context) (Status, error)
	Ready     func(context.Context) error // waits until all members have started
	Tasks     func(context.Context) ([]tasks.Task, error)
	Outline   func(context.Context) ([]tasks.Outline, error)
	Task      func(ctx context.Context, id string) (tasks.Task, error)
	Create    func(context.Context, TaskCreate) (TaskReply, error)
	Update    func(context.Context, TaskUpdate) (TaskReply, error)
	Claim     func(context.Context, TaskClaim) (TaskReply, error)
	Send      func(context.Context, Send) (SendReply, error)
	Tool      func(context.Context, TeamCall) (TeamAnswer, error)
	Interrupt func(context.Context, InterruptRequest) (InterruptReply, error)
	Hold      func(context.Context, HoldRequest) (HoldReply, error)
	Down      func(context.Context, Down) (DownReply, error)
	Hooks     func(context.Context) ([]hooklist.Info, error)
	Attach    func(context.Context) (AttachReply, error)
	Reload    func(context.Context) (ReloadReply, error) // looks at the files that hooks come from
	Merge     func(context.Context, MergeRequest) (MergeReply, error)
	Review    func(context.Context, ReviewRequest) (ReviewReply, error)
	Standing  func(ctx context.Context, task string) (Standing, error)
	Inbox     func(context.Context, InboxQuery) ([]requests.Request, error)
	Answer    func(context.Context, InboxAnswer) (requests.Request, error)
	End       func(context.Context, EndMember) (EndReply, error)
	Reshape   func(context.Context, Reshape) (SpecChange, error) // takes up another version of the spec
	Trust     func(context.Context, TrustNotice) (TrustReply, error)
	Trusted   func(context.Context, TrustNotice) (TrustReply, error)

	// Guard is asked before a request that a process of a member's tool makes in the
	// member's name; its error refuses. nil: nobody is asked.
	Guard func(ctx context.Context, member string, req any) error

	// Within is asked for the context of a request that a hook's process makes; its error
	// refuses. nil: the context stays.
	Within func(context.Context, process.Caller) (context.Context, error)

	// Attached is told how many operators are attached when that changes.
	Attached func(n int)
}

// control answers the requests that come in over the bus.
type control struct {
	h Handlers

	mu       sync.Mutex
	attached map[bus.ConnID]bool
	watchers sync.WaitGroup // ends when the bus is closed
}

// serveControl begins to answer requests. Close the bus to end it; no handler
// runs any more once that has returned. Then call wait.
func serveControl(b *bus.Bus, h Handlers) (*control, error) {
	c := &control{h: h, attached: map[bus.ConnID]bool{}}
	err := errors.Join(
		handle(b, verbStatus, asking(h.Status)),
		handle(b, verbReady, c.ready),
		handle(b, verbTasks, c.page),
		handle(b, verbTask, func(ctx context.Context, _ process.Caller, r taskID) (tasks.Task, error) {
			return h.Task(ctx, r.ID)
		}),
		handle(b, verbCreate, acting(h, h.Create)),
		handle(b, verbUpdate, acting(h, h.Update)),
		handle(b, verbClaim, acting(h, h.Claim)),
		handle(b, verbSend, acting(h, h.Send)),
		handle(b, verbTool, acting(h, h.Tool)),
		handle(b, verbInterrupt, telling(h.Interrupt)),
		handle(b, verbHold, acting(h, h.Hold)),
		handle(b, verbDown, func(ctx context.Context, _ process.Caller, r Down) (DownReply, error) {
			return h.Down(ctx, r)
		}),
		handle(b, verbHooks, asking(h.Hooks)),
		handle(b, verbReload, asking(h.Reload)),
		handle(b, verbMerge, func(ctx context.Context, _ process.Caller, r MergeRequest) (MergeReply, error) {
			return h.Merge(ctx, r)
		}),
		handle(b, verbReview, func(ctx context.Context, _ process.Caller, r ReviewRequest) (ReviewReply, error) {
			return h.Review(ctx, r)
		}),
		handle(b, verbStanding, func(ctx context.Context, _ process.Caller, r taskID) (Standing, error) {
			return h.Standing(ctx, r.ID)
		}),
		handle(b, verbInbox, telling(h.Inbox)),
		handle(b, verbAnswer, telling(h.Answer)),
		handle(b, verbEnd, telling(h.End)),
		handle(b, verbReshape, func(ctx context.Context, _ process.Caller, r Reshape) (SpecChange, error) {
			return h.Reshape(ctx, r)
		}),
		handle(b, verbTrust, telling(h.Trust)),
		handle(b, verbTrusted, telling(h.Trusted)),
		c.handleAttach(b),
	)
	if err == nil {
		_, err = bus.RefuseOthers(b)
	}
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return c, nil
}

// wait returns once nothing of the control runs any more; the bus must have
// been closed.
func (c *control) wait() { c.watchers.Wait() }

// Attached is how many operators are attached now: while there is one, there
// is somebody to ask.
func (c *control) Attached() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.attached)
}

// answerer answers one kind of request of a caller who may make it.
type answerer[Req, Rep any] func(context.Context, process.Caller, Req) (Rep, error)

// asking makes a handler of a function that needs nothing to know.
func asking[Rep any](f func(context.Context) (Rep, error)) answerer[struct{}, Rep] {
	return func(ctx context.Context, _ process.Caller, _ struct{}) (Rep, error) { return f(ctx) }
}

// telling makes a handler of a function that needs the request alone.
func telling[Req, Rep any](f func(context.Context, Req) (Rep, error)) answerer[Req, Rep] {
	return func(ctx context.Context, _ process.Caller, r Req) (Rep, error) { return f(ctx, r) }
}

// acting makes a handler of a function that acts for a member, which it is
// told in the request's As.
func acting[Rep any, Req deed[Req]](h Handlers, f func(context.Context, Req) (Rep, error)) answerer[Req, Rep] {
	return func(ctx context.Context, by process.Caller, r Req) (Rep, error) {
		if by.Kind != process.Operator {
			r = r.inNameOf(by.Member)
		}
		var err error
		// A hook's call is made inside of the hook: hooks that are asked about it are so, too.
		if by.IsHook() && h.Within != nil {
			ctx, err = h.Within(ctx, by)
		}
		if err == nil && (by.Kind == process.MemberTool || by.Kind == process.ActingHook) && h.Guard != nil {
			err = h.Guard(ctx, by.Member, r)
		}
		if err != nil {
			var none Rep
			return none, err
		}
		return f(ctx, r)
	}
}

// handle answers a verb once the caller is known and may ask for it.
func handle[Req, Rep any](b *bus.Bus, v bus.Verb, f answerer[Req, Rep]) error {
	_, err := bus.Handle(b, v, func(ctx context.Context, from bus.Caller, r Req) (Rep, error) {
		// The identity was found out when the connection was made, and no request can
		// change it.
		by := process.CallerFrom(from.Identity)
		if err := allowed(by, v, r); err != nil {
			var none Rep
			return none, codedError(err)
		}
		rep, err := f(ctx, by, r)
		return rep, codedError(err)
	})
	return err
}

// ready waits until the team is up and tells how it is then.
func (c *control) ready(ctx context.Context, _ process.Caller, _ struct{}) (Status, error) {
	if err := c.h.Ready(ctx); err != nil {
		return Status{}, err
	}
	return c.h.Status(ctx)
}

// handleAttach counts attached operators. A caller is attached until its
// connection ends, however it ends.
func (c *control) handleAttach(b *bus.Bus) error {
	_, err := bus.Handle(b, verbAttach, c.attach)
	return err
}

// attach tells a client where the journal stands. A person's counts as attached
// from here on; a member's process may read along, but nobody can be asked there.
func (c *control) attach(ctx context.Context, from bus.Caller, _ struct{}) (AttachReply, error) {
	by := process.CallerFrom(from.Identity)
	if err := allowed(by, verbAttach, nil); err != nil {
		return AttachReply{}, codedError(err)
	}
	rep, err := c.h.Attach(ctx)
	if err != nil {
		return rep, codedError(err)
	}
	if rep.Counted = by.Kind == process.Operator; rep.Counted {
		c.watch(from)
	}
	return rep, nil
}

// watch counts a connection as attached until it is gone.
func (c *control) watch(from bus.Caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached[from.Conn] {
		return
	}
	c.attached[from.Conn] = true
	c.tell()
	c.watchers.Go(func() {
		<-from.Gone()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.attached, from.Conn)
		c.tell()
	})
}

// tell reports the number of attached operators; c.mu is held, so that reports
// come in order.
func (c *control) tell() {
	if c.h.Attached != nil {
		c.h.Attached(len(c.attached))
	}
}

// page answers with the tasks after one, as many as fit.
func (c *control) page(ctx context.Context, _ process.Caller, r taskpage.After) (taskpage.Page[json.RawMessage], error) {
	if !r.Outline {
		all, err := c.h.Tasks(ctx)
		if err != nil {
			return taskpage.Page[json.RawMessage]{}, err
		}
		return taskpage.Cut(all, func(t *tasks.Task) string { return t.ID }, r)
	}
	all, err := c.h.Outline(ctx)
	if err != nil {
		return taskpage.Page[json.RawMessage]{}, err
	}
	if r.Columns {
		return taskpage.CutColumns(all, r)
	}
	return taskpage.Cut(all, func(t *tasks.Outline) string { return t.ID }, r)
}
