package api

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// The verbs about a whole team.
var (
	VerbDown   = forOperator[Down, DownReply]("down")
	VerbAttach = forAll[struct{}, AttachReply]("attach")
	VerbDrafts = forAll[DraftsRequest, members.Drafting]("drafts")
)

// Down asks the team to end.
type Down struct {
	Reason string `json:"reason,omitempty"`
}

// DownReply means that the team is ending.
type DownReply struct {
	PID int `json:"pid"`
}

// AttachReply tells an attached client where to read the journal.
type AttachReply struct {
	Seq     uint64 `json:"seq"`     // last line of the journal now
	Journal string `json:"journal"` // path of the journal
	Counted bool   `json:"counted"` // the caller is a person, who can answer questions
}

// DraftsRequest asks for what members write at the moment, once it has changed. It is asked again
// and again, so that a reader that is slow or gone costs the team nothing.
type DraftsRequest struct {
	Member string `json:"member,omitempty"` // empty: all members
	After  uint64 `json:"after,omitempty"`  // the number of the last reply
}

// HandleAttach makes the handler of VerbAttach. f returns the state of the
// journal. A person counts as attached until the connection ends. A member's
// process may follow the journal, but does not count.
func HandleAttach(f func(context.Context) (AttachReply, error)) Handler {
	return VerbAttach.handle(func(ctx context.Context, s *Server, _ Checks, from bus.Caller, _ struct{}) (AttachReply, error) {
		rep, err := f(ctx)
		if err != nil {
			return rep, err
		}
		if rep.Counted = CallerFrom(from.Identity).Kind == process.Operator; rep.Counted {
			s.watch(from)
		}
		return rep, nil
	})
}

// Down asks the team to end, and Wait waits until it has. It is not an error if
// the team ends before its reply arrives.
func (c *Client) Down(ctx context.Context, reason string) (DownReply, error) {
	rep, err := ask(ctx, c, VerbDown, Down{Reason: reason})
	if errors.Is(err, ErrNotRunning) {
		return rep, nil
	}
	return rep, err
}

// Wait waits until the team's process has released the team, so that another can
// run it.
func (c *Client) Wait(ctx context.Context) error {
	select {
	case <-c.bus.Done():
		return state.WaitReleased(ctx, c.place, c.run.PID) // the bus is closed before the store
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Attach marks this client as attached until Close: the team can then ask the
// caller, if it is a person. The reply says where to read the journal.
func (c *Client) Attach(ctx context.Context) (AttachReply, error) {
	return ask(ctx, c, VerbAttach, struct{}{})
}

// Drafts waits until what members write differs from the last reply, for as long as ctx allows.
func (c *Client) Drafts(ctx context.Context, r DraftsRequest) (members.Drafting, error) {
	return ask(ctx, c, VerbDrafts, r)
}
