package crew

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// A member leaves the team when it agrees to a shutdown request of its lead or of a
// person, or does not answer by the deadline. Its turn is then interrupted. If it is
// still running a while later, it is killed with all its processes. Its tasks become open
// again, and all members are told. The team continues, and the next `covey up` brings the
// member back, unless its lead had added it.

const (
	// lastCall is how long the call by which a member agrees may still run; then its turn
	// is interrupted.
	lastCall = 5 * time.Second
	// lastGrace is how long an interrupted turn may take to end; then the member is
	// killed. Tools get TERM and KILL within a second of an interrupt.
	lastGrace = 10 * time.Second
)

// memberContext returns the context of one member, and gives its Life the functions that end and
// resume it.
//
// quit ends only this member; its cause (members.ErrLeaves) distinguishes that from the end
// of the team. resume continues the member once it rests.
func (c *Crew) memberContext(ctx context.Context, s *Seat) context.Context {
	ctx, quit := context.WithCancelCause(ctx)
	s.Life.Bind(quit, func() { c.deps.Group.Go(func() { c.runMember(ctx, s) }) })
	return ctx
}

// shutdownAnswered removes a member that has agreed, or has not answered in time.
//
// The inbox calls it when such a request closes, also one of an earlier run. A refusal
// changes nothing: the sender gets it by mail (closingMail).
func (c *Crew) shutdownAnswered(ctx context.Context, r requests.Request) {
	s, ok := c.deps.Seats.Of(r.To)
	if !ok || !r.Approved() {
		return
	}
	reason := "it was asked to end by " + inbox.AnswererName(r.Member)
	if why := inbox.PayloadOf(r).Reason; why != "" {
		reason += ": " + texts.Preview(why, 500)
	}
	grace := lastCall
	if r.State == requests.Expired {
		reason, grace = reason+" (it did not answer)", 0
	} else {
		s.occupant.Mate.Signal(port.Signal{Leave: true})
	}
	c.dismissMember(ctx, s, reason, grace)
}

// dismissMember makes a member leave and returns at once. Its turn is interrupted after
// its current call, or after grace. What still runs after lastGrace is killed.
//
// The first reason stays: a member that is asked twice leaves once. The end of the team
// waits for the goroutine. Its context is detached, so that it can finish the kill after
// the request has ended.
func (c *Crew) dismissMember(ctx context.Context, s *Seat, reason string, grace time.Duration) {
	left, underway := s.Life.Leave(reason)
	if !underway {
		return
	}
	ctx, done := c.deps.Asks.UntilEnd(ctx)
	if !c.deps.Group.Go(func() { // ends with the member, or with the team
		defer done()
		for _, step := range []struct {
			after time.Duration
			do    func()
		}{
			{grace, func() { s.Interrupt("it leaves the team: " + reason) }},
			{lastGrace, func() { c.killMember(s) }},
		} {
			select {
			case <-left:
				return
			case <-ctx.Done():
				return
			case <-c.deps.Clock.After(step.after):
				step.do()
			}
		}
	}) {
		done() // the team has ended, and the member with it
	}
}

// afterCall interrupts the turn of a leaving member once the call by which it agreed has
// a result. The server of tools calls it after every call. Otherwise the member would
// continue, at a cost, until lastCall is over.
func (c *Crew) afterCall(s *Seat) {
	if leaves := s.Life.State().Leaving; leaves != "" {
		s.Interrupt("it leaves the team: " + leaves)
	}
}

// killMember ends a member that did not leave by itself, and all its processes.
func (c *Crew) killMember(s *Seat) {
	s.Life.Kill()
	c.deps.Processes.KillOf(s.Member.Name)
}

// completeLeave completes the leave of a member: it ends its processes, opens its tasks and
// tells the others.
//
// The member's goroutine calls it last. It kills processes again after killMember,
// because the last call may have started some. The context of the store and of the
// messages outlives the member's own.
func (c *Crew) completeLeave(ctx context.Context, s *Seat) {
	s.Close(c.deps.Log)
	c.deps.Processes.KillOf(s.Member.Name)
	ctx, done := c.deps.Asks.UntilEnd(ctx)
	defer done()
	c.leave(ctx, s, s.Life.State().Leaving)
}

// announceLeft tells the members that one has left: the lead by mail that begins a turn, the
// others by mail that waits for their next turn.
//
// released are the tasks that are open again; the others learn their ids, so that they
// can claim them. The member itself gets no mail, because it may never return.
func (c *Crew) announceLeft(ctx context.Context, s *Seat, reason string, released []tasks.Task) error {
	others := []string{}
	for _, other := range c.deps.Seats.All() {
		if other != s && !other.Member.Lead && other.Life.State().Gone == "" {
			others = append(others, other.Member.Name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	ids := make([]string, len(released))
	for i, t := range released {
		ids[i] = t.ID
	}
	text := fmt.Sprintf("Member %s has left the team: %s", s.Member.Name, reason)
	_, err := c.deps.Store.Mail().Send(ctx, actors.Actor{}, mail.Outgoing{
		To: others, Kind: mail.Terminated, Text: text, Summary: mail.Summary(text),
		Data: texts.Encode(mail.Termination{
			Type: mail.Terminated, From: s.Member.Name, Reason: reason, TaskIDs: ids, Timestamp: c.deps.Clock.Now(),
		}),
	})
	return err
}

// EndMember ends a member, and waits until it has left or declined. It waits as long as
// the member may take to answer, and then until it has gone. If ctx ends because the
// caller hung up, the request stays.
func (c *Crew) EndMember(ctx context.Context, e api.EndMember) (api.EndReply, error) {
	by := actors.Actor{Name: actors.Operator}
	if err := c.deps.Board.MayEnd(by, e.Member); err != nil {
		return api.EndReply{}, err
	}
	s, ok := c.deps.Seats.Of(e.Member)
	if !ok {
		return api.EndReply{}, c.deps.Board.NoSeat(e.Member)
	}
	if e.Now {
		reason := "a person ended it"
		if e.Reason != "" {
			reason += ": " + texts.Preview(e.Reason, 500)
		}
		c.dismissMember(ctx, s, reason, 0)
		return awaitGone(ctx, s, api.EndReply{})
	}
	r, err := c.deps.Board.AskToEnd(ctx, by, e.Member, teamtools.EndOptions{Reason: e.Reason, Wait: e.Wait})
	if err != nil {
		return api.EndReply{}, err
	}
	reply := api.EndReply{Request: r.ID}
	if r, err = c.deps.Asks.Wait(ctx, r.ID); err != nil {
		return reply, err
	}
	if !r.Approved() {
		reply.Reason = strings.TrimSuffix(inbox.ClosingText(r), ".")
		return reply, nil
	}
	if now, ok := c.deps.Seats.Of(e.Member); ok { // it may have restarted, or left
		s = now
	}
	return awaitGone(ctx, s, reply)
}

// awaitGone waits until a member has left.
func awaitGone(ctx context.Context, s *Seat, reply api.EndReply) (api.EndReply, error) {
	select {
	case <-s.Life.Left():
	case <-ctx.Done():
		return reply, context.Cause(ctx)
	}
	reply.Reason = s.Life.State().Gone
	reply.Gone, reply.Added = reply.Reason != "", s.Member.Template != ""
	return reply, nil
}
