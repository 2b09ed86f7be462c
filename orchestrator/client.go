package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/gang"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/taskpage"
	"github.com/coveyteam/covey/tasks"
)

// Client asks a running team from another process. Who it acts for is found
// out by the team. Its methods fail with an error that wraps ErrDenied if the
// caller may not do that, with the store's errors (tasks.ErrNotFound, …) or
// ErrNoMember where those apply, with ErrNotRunning if the team has ended, and with
// ErrOtherVersion if another version of covey runs it.
// It is safe for concurrent use.
type Client struct {
	place  state.Place
	pid    int // of the team's process, as its run.json says
	bus    *bus.Bus
	other  error          // an ErrOtherVersion: the team can be told to end, and no more
	relays sync.WaitGroup // ends when the bus is done
}

// Dial connects to the team that runs in a Place. It fails with ErrNotRunning
// if none does, and with ErrOtherVersion if what runs it does not answer as we know it.
func Dial(ctx context.Context, p state.Place) (*Client, error) {
	run, ok := state.Running(p)
	if !ok {
		if err := newerRun(p); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("team %s in %s: %w; `covey up` starts it", p.Team, p.Workspace, ErrNotRunning)
	}
	return dialAt(ctx, p, run)
}

// Close hangs up. Calls after the first do nothing.
func (c *Client) Close() error {
	err := c.bus.Close()
	c.relays.Wait()
	return err
}

// Gone is closed when the team has ended, or after Close.
func (c *Client) Gone() <-chan struct{} { return c.bus.Done() }

// Place is where the team's files are.
func (c *Client) Place() state.Place { return c.place }

// Status tells what the team does now.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, verbStatus, struct{}{})
}

// WaitUp waits until all members have started and tells how the team is then.
func (c *Client) WaitUp(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, verbReady, struct{}{})
}

// Tasks lists all tasks in list order, however many there are.
func (c *Client) Tasks(ctx context.Context) ([]tasks.Task, error) {
	return pages(ctx, c, taskpage.After{}, func(t *tasks.Task) string { return t.ID })
}

// Outline is Tasks with no more of each task than its outline; a long list comes many
// times as fast.
func (c *Client) Outline(ctx context.Context) ([]tasks.Outline, error) {
	r := taskpage.After{Outline: true, Columns: true}
	return pages(ctx, c, r, func(t *tasks.Outline) string { return t.ID })
}

// pages asks for all tasks.
func pages[T any](ctx context.Context, c *Client, r taskpage.After, id func(*T) string) ([]T, error) {
	all := []T{}
	for {
		page, err := ask[taskpage.Page[T]](ctx, c, verbTasks, r)
		if err != nil {
			return nil, err
		}
		list, err := page.List()
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if !page.More || len(list) == 0 {
			return all, nil
		}
		r.ID = id(&list[len(list)-1])
	}
}

// Task is one task.
func (c *Client) Task(ctx context.Context, id string) (tasks.Task, error) {
	return ask[tasks.Task](ctx, c, verbTask, taskID{ID: id})
}

// CreateTask makes a task. If hooks refuse it, the reply says so.
func (c *Client) CreateTask(ctx context.Context, req TaskCreate) (TaskReply, error) {
	return ask[TaskReply](ctx, c, verbCreate, req)
}

// UpdateTask changes a task. If hooks refuse the change, the reply says so.
func (c *Client) UpdateTask(ctx context.Context, req TaskUpdate) (TaskReply, error) {
	return ask[TaskReply](ctx, c, verbUpdate, req)
}

// ClaimTask makes a member the owner of a task.
func (c *Client) ClaimTask(ctx context.Context, req TaskClaim) (TaskReply, error) {
	return ask[TaskReply](ctx, c, verbClaim, req)
}

// Send gives a text to a member. When it returns without an error, the text
// is stored and survives a crash.
func (c *Client) Send(ctx context.Context, req Send) (SendReply, error) {
	return ask[SendReply](ctx, c, verbSend, req)
}

// Interrupt ends the turn that a member is in; the member stays, and is held unless it is
// to go on.
func (c *Client) Interrupt(ctx context.Context, r InterruptRequest) (InterruptReply, error) {
	return ask[InterruptReply](ctx, c, verbInterrupt, r)
}

// Hold holds a member, or lets it go on.
func (c *Client) Hold(ctx context.Context, r HoldRequest) (HoldReply, error) {
	return ask[HoldReply](ctx, c, verbHold, r)
}

// Down asks the team to end. Wait tells when it has. A team may be gone before
// its answer is out; that is no error, for it has done what was asked.
func (c *Client) Down(ctx context.Context, reason string) (DownReply, error) {
	rep, err := ask[DownReply](ctx, c, verbDown, Down{Reason: reason})
	if errors.Is(err, ErrNotRunning) {
		return rep, nil
	}
	return rep, err
}

// Wait waits until the team's process has let go of the team: another may run it then.
func (c *Client) Wait(ctx context.Context) error {
	select {
	case <-c.bus.Done():
		return state.WaitReleased(ctx, c.place, c.pid) // the bus is closed before the store
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Hooks lists the configured hooks of the team.
func (c *Client) Hooks(ctx context.Context) ([]hooklist.Info, error) {
	return ask[[]hooklist.Info](ctx, c, verbHooks, struct{}{})
}

// Reload has the team look at the files that its hooks come from, and tells what
// became of those that have changed. It waits for the ConfigChange hooks.
func (c *Client) Reload(ctx context.Context) (ReloadReply, error) {
	return ask[ReloadReply](ctx, c, verbReload, struct{}{})
}

// Reshape has the team take up another version of its spec, or tell what would
// change. It fails with configs.ErrSpec for a spec that cannot count, and then nothing has
// changed. Only the operator may ask for it.
func (c *Client) Reshape(ctx context.Context, r Reshape) (SpecChange, error) {
	return ask[SpecChange](ctx, c, verbReshape, r)
}

// Merge asks for finished work to be merged. The reply says what is in the queue for
// it then; Review tells what became of it.
func (c *Client) Merge(ctx context.Context, req MergeRequest) (MergeReply, error) {
	return ask[MergeReply](ctx, c, verbMerge, req)
}

// Review tells what is known of finished work.
func (c *Client) Review(ctx context.Context, req ReviewRequest) (ReviewReply, error) {
	return ask[ReviewReply](ctx, c, verbReview, req)
}

// Attach says that this client watches: until Close there is somebody to ask,
// if the caller is a person. It tells where to read the journal.
func (c *Client) Attach(ctx context.Context) (AttachReply, error) {
	return ask[AttachReply](ctx, c, verbAttach, struct{}{})
}

// JournalWake is a channel that gets a value whenever the journal grew, and is
// closed when the team has ended; it fits FollowJournal.
func (c *Client) JournalWake() (<-chan struct{}, error) {
	if c.other != nil {
		return nil, c.other
	}
	wake, grew := make(chan struct{}, 1), make(chan struct{}, 1)
	if _, err := c.bus.OnJournal(func(uint64) { gang.Signal(grew) }); err != nil {
		return nil, c.explain(err)
	}
	c.relays.Go(func() { relay(wake, grew, c.bus.Done()) })
	return wake, nil
}

// relay passes signals on until done, then closes the channel. Only the sender
// may close a channel, and the bus's callback cannot know which is its last.
func relay(wake chan<- struct{}, grew, done <-chan struct{}) {
	defer close(wake)
	for {
		select {
		case <-grew:
			gang.Signal(wake)
		case <-done:
			return
		}
	}
}

// ask sends one request and explains what went wrong.
func ask[Rep, Req any](ctx context.Context, c *Client, v bus.Verb, req Req) (Rep, error) {
	if c.other != nil && v != verbDown {
		var none Rep
		return none, c.other
	}
	if c.other != nil {
		limited, cancel := context.WithTimeout(ctx, otherWithin)
		defer cancel()
		ctx = limited
	}
	rep, err := bus.Ask[Req, Rep](ctx, c.bus, v, req)
	switch {
	case err == nil:
		return rep, nil
	case bus.CodeOf(err) == bus.CodeUnknown && !errors.Is(err, bus.ErrClosed):
		return rep, otherVersion(c.place, c.bus.Remote().Version)
	case c.other != nil && !errors.Is(err, bus.ErrClosed):
		return rep, c.other
	}
	return rep, c.explain(err)
}

// explain gives an error of the bus the sentinels that callers ask for.
func (c *Client) explain(err error) error {
	if errors.Is(err, bus.ErrClosed) {
		return fmt.Errorf("team %s: %w: it ended meanwhile", c.place.Team, ErrNotRunning)
	}
	var remote *bus.Error
	if errors.As(err, &remote) {
		return &remoteError{text: remote.Text, kind: remoteKinds[remote.Code]}
	}
	var size *bus.SizeError
	if errors.As(err, &size) {
		return fmt.Errorf("the request has %d bytes; a running team takes at most %d: %w; "+
			"put a long text into a file of the workspace, and name the file",
			size.Size, size.Limit, ErrTooLarge)
	}
	return fmt.Errorf("team %s: %w", c.place.Team, err)
}
