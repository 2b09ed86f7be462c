package api

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// The verbs about a whole team.
var (
	VerbDown   = forOperator[Down, DownReply]("down")
	VerbAttach = forAll[struct{}, AttachReply]("attach")
)

// Down asks the team to end.
type Down struct {
	Reason string `json:"reason,omitempty"`
}

// DownReply says that the team is ending.
type DownReply struct {
	PID int `json:"pid"`
}

// AttachReply says where an attached client begins.
type AttachReply struct {
	Seq     uint64 `json:"seq"`     // last line of the journal now
	Journal string `json:"journal"` // the file to read it from
	Counted bool   `json:"counted"` // the caller is a person who can be asked
}

// HandleAttach makes the handler of VerbAttach: f tells where the journal stands. A person who
// attaches counts as attached until the connection ends, however it ends; a member's process may
// read along, but nobody can be asked there.
func HandleAttach(f func(context.Context) (AttachReply, error)) Handler {
	return VerbAttach.handle(func(ctx context.Context, s *Server, from bus.Caller, _ struct{}) (AttachReply, error) {
		rep, err := f(ctx)
		if err != nil {
			return rep, err
		}
		if rep.Counted = process.CallerFrom(from.Identity).Kind == process.Operator; rep.Counted {
			s.watch(from)
		}
		return rep, nil
	})
}

// Down asks the team to end. Wait tells when it has. A team may be gone before
// its answer is out; that is no error, for it has done what was asked.
func (c *Client) Down(ctx context.Context, reason string) (DownReply, error) {
	rep, err := ask(ctx, c, VerbDown, Down{Reason: reason})
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

// Attach says that this client watches: until Close there is somebody to ask,
// if the caller is a person. It tells where to read the journal.
func (c *Client) Attach(ctx context.Context) (AttachReply, error) {
	return ask(ctx, c, VerbAttach, struct{}{})
}
