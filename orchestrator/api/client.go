package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/state"
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
	other  error          // an ErrOtherVersion: the team can only be told to end
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

// Ended is the error, an ErrNotRunning, of a team that has ended since Dial.
func (c *Client) Ended() error {
	return fmt.Errorf("team %s: %w: it ended meanwhile", c.place.Team, ErrNotRunning)
}

// Place is where the team's files are.
func (c *Client) Place() state.Place { return c.place }

// JournalWake is a channel that gets a value whenever the journal grew, and is
// closed when the team has ended; it fits FollowJournal.
func (c *Client) JournalWake() (<-chan struct{}, error) {
	if c.other != nil {
		return nil, c.other
	}
	wake, grew := make(chan struct{}, 1), make(chan struct{}, 1)
	if _, err := c.bus.OnJournal(func(uint64) { routine.Signal(grew) }); err != nil {
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
			routine.Signal(wake)
		case <-done:
			return
		}
	}
}

// ask sends one request and explains what went wrong.
func ask[Req, Rep any](ctx context.Context, c *Client, v Verb[Req, Rep], req Req) (Rep, error) {
	if c.other != nil && v.name != VerbDown.name {
		var none Rep
		return none, c.other
	}
	if c.other != nil {
		limited, cancel := context.WithTimeout(ctx, otherWithin)
		defer cancel()
		ctx = limited
	}
	rep, err := bus.Ask[Req, Rep](ctx, c.bus, v.name, req)
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
		return c.Ended()
	}
	var remote *bus.Error
	if errors.As(err, &remote) {
		return decodedError(remote)
	}
	var size *bus.SizeError
	if errors.As(err, &size) {
		return fmt.Errorf("the request has %d bytes; a running team takes at most %d: %w; "+
			"put a long text into a file of the workspace, and name the file",
			size.Size, size.Limit, ErrTooLarge)
	}
	return fmt.Errorf("team %s: %w", c.place.Team, err)
}

// dialAt connects to the team that a run.json tells of. It fails with ErrNotRunning if nobody
// listens there, and with ErrOtherVersion if what does is of another version.
func dialAt(ctx context.Context, p state.Place, run state.RunFile) (*Client, error) {
	b, err := dialSocket(ctx, p, run)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("team %s is starting or ending, it does not listen: %w", p.Team, ErrNotRunning)
	case errors.Is(err, bus.ErrRefused):
		return nil, fmt.Errorf("team %s: %w: %w", p.Team, ErrDenied, err)
	case errors.Is(err, ErrOtherVersion):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("team %s: %w", p.Team, err)
	}
	c := &Client{place: p, pid: run.PID, bus: b}
	if said := b.Remote(); said.Protocol != Protocol {
		c.other = otherVersion(p, cmp.Or(said.Version, run.Version))
	}
	return c, nil
}
