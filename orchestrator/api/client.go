package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Client sends requests to a running team from another process. The team
// identifies the caller by its process. Methods fail with ErrDenied if the caller
// may not make the request, with the store's errors (tasks.ErrNotFound, …) or
// ErrNoMember, with ErrNotRunning if the team has ended, and with ErrOtherVersion
// if another version of covey runs it. A Client is safe for concurrent use.
type Client struct {
	place  state.Place
	run    state.RunFile
	bus    *bus.Bus
	relays sync.WaitGroup // ends when the bus is done
}

// Dial connects to the team that runs in a Place. It fails with ErrNotRunning if
// none runs there, and with ErrOtherVersion if the process does not speak our
// protocol.
func Dial(ctx context.Context, p state.Place) (*Client, error) {
	if own, socket, inside := state.Inside(); inside && own.Dir == p.Dir {
		return dialAt(ctx, p, state.RunFile{Socket: socket})
	}
	run, ok := state.Running(p)
	if !ok {
		if err := newerRun(p); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("team %s in %s: %w; `covey up` starts it", p.Team, p.Workspace, ErrNotRunning)
	}
	if err := checkProtocol(p, run); err != nil {
		return nil, err
	}
	return dialAt(ctx, p, run)
}

// Close closes the connection. Further calls do nothing.
func (c *Client) Close() error {
	err := c.bus.Close()
	c.relays.Wait()
	return err
}

// Gone returns a channel that is closed when the team has ended, or after Close.
func (c *Client) Gone() <-chan struct{} { return c.bus.Done() }

// Ended returns the error for a team that has ended since Dial. It wraps
// ErrNotRunning.
func (c *Client) Ended() error {
	return fmt.Errorf("team %s: %w: it ended meanwhile", c.place.Team, ErrNotRunning)
}

// Place returns the place of the team's files.
func (c *Client) Place() state.Place { return c.place }

// JournalWake returns a channel that receives a value when the journal has grown,
// and is closed when the team has ended. It can be passed to state.FollowJournal.
func (c *Client) JournalWake() (<-chan struct{}, error) {
	wake, grew := make(chan struct{}, 1), make(chan struct{}, 1)
	if _, err := c.bus.OnJournal(func(uint64) { members.Signal(grew) }); err != nil {
		return nil, c.explain(err)
	}
	c.relays.Go(func() { relay(wake, grew, c.bus.Done()) })
	return wake, nil
}

// relay forwards signals until done, and then closes wake. The bus's callback
// cannot close the channel itself, because it does not know which call is its
// last.
func relay(wake chan<- struct{}, grew, done <-chan struct{}) {
	defer close(wake)
	for {
		select {
		case <-grew:
			members.Signal(wake)
		case <-done:
			return
		}
	}
}

// ask sends one request. Its errors wrap the sentinels of this package.
func ask[Req, Rep any](ctx context.Context, c *Client, v Verb[Req, Rep], req Req) (Rep, error) {
	rep, err := bus.Ask[Req, Rep](ctx, c.bus, v.name, req)
	switch {
	case err == nil:
		return rep, nil
	case bus.CodeOf(err) == bus.CodeUnknown && !errors.Is(err, bus.ErrClosed):
		return rep, otherVersion(c.place, c.run)
	}
	return rep, c.explain(err)
}

// explain converts an error of the bus to one that wraps a sentinel.
func (c *Client) explain(err error) error {
	if errors.Is(err, bus.ErrClosed) {
		return c.Ended()
	}
	if remote, ok := errors.AsType[*bus.Error](err); ok {
		return decodedError(remote)
	}
	if size, ok := errors.AsType[*bus.SizeError](err); ok {
		return fmt.Errorf("the request has %d bytes; a running team takes at most %d: %w; "+
			"put a long text into a file of the workspace, and name the file",
			size.Size, size.Limit, ErrTooLarge)
	}
	return fmt.Errorf("team %s: %w", c.place.Team, err)
}

// dialAt connects to the team that run describes. It fails with ErrNotRunning if
// no process listens, and with ErrOtherVersion if what listens is no bus of ours.
func dialAt(ctx context.Context, p state.Place, run state.RunFile) (*Client, error) {
	b, err := bus.Dial(ctx, run.Socket, isTeam(p))
	switch {
	case errors.Is(err, bus.ErrRefused): // for want of a key, which may be a file that is not there
		return nil, fmt.Errorf("team %s: %w: %w", p.Team, ErrDenied, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, bus.ErrHungUp):
		// run.json is written after the team listens, and again before it stops to.
		if now, up := state.Running(p); up && !errors.Is(err, bus.ErrHungUp) {
			return nil, fmt.Errorf("team %s: process %d runs it, but nothing answers at its control socket %s, "+
				"which was moved or removed: %w; end that process, and start the team again", p.Team, now.PID, run.Socket, err)
		}
		return nil, fmt.Errorf("team %s does not listen, because it is starting or ending: %w", p.Team, ErrNotRunning)
	case errors.Is(err, bus.ErrForeign):
		return nil, otherVersion(p, run)
	case err != nil:
		return nil, fmt.Errorf("team %s: %w", p.Team, err)
	}
	return &Client{place: p, run: run, bus: b}, nil
}
