package crew

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// A member leaves the team when it agrees to a shutdown request of its lead or
// of a person, or when it has not answered by the deadline. Then its turn is
// interrupted; a member that is still there a while later is killed, with all
// that it has started. Its tasks are open again, and everybody is told. The
// team goes on, and the next `covey up` brings the member back.

const (
	// shutdownLimit is how long a member has to answer.
	shutdownLimit = 2 * time.Minute
	// lastCall is how long a member that has agreed may take to end the call by
	// which it did; then its turn is interrupted.
	lastCall = 5 * time.Second
	// lastGrace is how long a member may take to leave an interrupted turn; then
	// it is killed. Tools get TERM and KILL within a second of an interrupt.
	lastGrace = 10 * time.Second
)

// departures see to members that leave the team while it goes on.
type departures struct{ crew *Crew }

// Farewell is how a member is asked to end.
type Farewell struct {
	Reason string
	Wait   time.Duration // until it is ended without an answer; 0: shutdownLimit
}

// ShutdownRequest is a request in the form in which it is sent.
func ShutdownRequest(r requests.Request) mail.ShutdownRequest {
	return mail.ShutdownRequest{
		Type: mail.ShutdownAsked, RequestRef: mail.Ref(r.ID), From: r.Member, Reason: inbox.PayloadOf(r).Reason,
		Deadline: r.Deadline, Timestamp: r.Created,
	}
}

// own makes the context of one member, and what it takes to see it off.
//
// quit ends the member alone and its cause says why (lives.ErrLeaves), which tells such an end
// from the end of the team. resume runs it on once it rests.
func (c *Crew) own(ctx context.Context, s *Seat) context.Context {
	ctx, quit := context.WithCancelCause(ctx)
	s.Life.Own(quit, func() { c.group.Go(func() { c.goOn(ctx, s) }) })
	return ctx
}

// AskToEnd asks a member to end. One that was asked before is not asked again.
//
// Key makes a second request to the same member the first one again. The default answer
// is yes: a member that does not answer by the deadline leaves all the same, which is
// what tells a shutdown from a plea. The mail is built by a function,
// because the request has its id only once it is stored.
func (c *Crew) AskToEnd(ctx context.Context, by actors.Actor, to string, f Farewell) (requests.Request, error) {
	if err := (departures{c}).mayEnd(by, to); err != nil {
		return requests.Request{}, err
	}
	if f.Wait < 0 {
		return requests.Request{}, notation.Errorf(tasks.ErrInvalid, "it cannot have %s to answer; give it some time", f.Wait)
	}
	why := ""
	if f.Reason != "" {
		why = ": " + notation.Preview(f.Reason, 4000)
	}
	return c.asks.Ask(ctx, by, requests.New{
		Kind: requests.AskShutdown, Member: by.Name, To: to, Key: "end/" + to, Default: true,
		Wait: cmp.Or(f.Wait, shutdownLimit), Text: fmt.Sprintf("%s asks %s to end%s", by.Name, to, why),
		Payload: notation.Encode(inbox.Payload{Reason: f.Reason}),
		Mail: func(r requests.Request) mail.Outgoing {
			now := c.clock.Now()
			r.Created, r.Deadline = now, now.Add(cmp.Or(f.Wait, shutdownLimit))
			return mail.Outgoing{
				Kind: mail.ShutdownAsked, Text: r.Text, Summary: mail.Summary(r.Text), Data: notation.Encode(ShutdownRequest(r)),
			}
		},
	})
}

// mayEnd refuses who may not ask a member to end, and members that cannot be
// ended so.
//
// Members may not end each other, only the lead and people may: the one has given out
// the work, the others own the team. Each refusal says what to do in its place.
func (d departures) mayEnd(by actors.Actor, to string) error {
	s, ok := d.crew.seats.Of(to)
	lead := d.crew.seats.Lead()
	switch {
	case !ok:
		return d.crew.board.Known(to)
	case s.Member.Lead:
		return notation.Errorf(tasks.ErrInvalid, "%s is the lead, and a team without its lead has nobody to report; "+
			"`covey down` ends the team", to)
	case by.Name != lead.Member.Name && by.Name != actors.Operator:
		return notation.Errorf(tasks.ErrNotAsked, "only the lead and people may ask a member to end; tell %s why %s should",
			lead.Member.Name, to)
	case s.Life.State().Gone != "":
		return notation.Errorf(tasks.ErrInvalid, "%s has left already: %s", to, s.Life.State().Gone)
	}
	return nil
}

// shutdownSettled sees off a member that has agreed, or has not answered in time.
//
// The inbox calls it whenever such a request is settled, also one of an earlier run; a
// seat without a mate has nothing that could be ended yet. A refusal changes nothing:
// whoever asked is told of it by mail (closingMail).
func (d departures) shutdownSettled(ctx context.Context, r requests.Request) {
	s, ok := d.crew.seats.Of(r.To)
	if !ok || !r.Approved() || s.mate == nil {
		return
	}
	reason := "it was asked to end by " + inbox.AnswererName(r.Member)
	if why := inbox.PayloadOf(r).Reason; why != "" {
		reason += ": " + notation.Preview(why, 500)
	}
	grace := lastCall
	if r.State == requests.Expired {
		reason, grace = reason+" (it did not answer)", 0
	} else {
		s.mate.Leave()
	}
	d.dismissMember(ctx, s, reason, grace)
}

// dismissMember has a member leave: after its call, or after grace, its turn is
// interrupted, and what is still there after lastGrace is killed. It returns at
// once.
//
// The first reason stays: a member that is asked to end twice leaves once. The goroutine
// is counted among the members, so the team's end waits for it; the detached ctx lets it
// finish its kill although the request that it came from is over.
func (d departures) dismissMember(ctx context.Context, s *Seat, reason string, grace time.Duration) {
	left, underway := s.Life.Leave(reason)
	if !underway {
		return
	}
	ctx, done := d.crew.asks.UntilEnd(ctx)
	if !d.crew.group.Go(func() { // ends when the member has gone, or with the team
		defer done()
		for _, step := range []struct {
			after time.Duration
			do    func()
		}{
			{grace, func() { s.mate.Interrupt("it leaves the team: " + reason) }},
			{lastGrace, func() { d.killMember(s) }},
		} {
			select {
			case <-left:
				return
			case <-ctx.Done():
				return
			case <-d.crew.clock.After(step.after):
				step.do()
			}
		}
	}) {
		done() // the team has ended, and the member with it
	}
}

// afterCall interrupts the turn of a member that leaves, once the call by which
// it agreed has its result.
//
// The tools' server calls it after every call. Without it a member that has said yes
// would think on until lastCall is over, and pay for that.
func (d departures) afterCall(s *Seat) {
	if leaves := s.Life.State().Leaving; leaves != "" {
		s.mate.Interrupt("it leaves the team: " + leaves)
	}
}

// killMember ends a member that did not leave by itself, and all that it runs.
func (d departures) killMember(s *Seat) {
	s.Life.Kill()
	d.crew.processes.KillOf(s.Member.Name)
}

// seeOff is for a member that leaves by a shutdown: nothing of it goes on, its
// tasks are open again, and everybody knows.
//
// The member's goroutine calls it last. Processes are killed again after
// killMember, because the last call may have begun one meanwhile. Then the store and the
// others are told, with a ctx that outlives the member's own.
func (d departures) seeOff(ctx context.Context, s *Seat) {
	s.Close(d.crew.log)
	d.crew.processes.KillOf(s.Member.Name)
	ctx, done := d.crew.asks.UntilEnd(ctx)
	defer done()
	d.crew.leave(ctx, s, s.Life.State().Leaving)
}

// parted tells everybody that a member has left: the lead by words that begin a
// turn, the others by a message that waits for their next one.
//
// released are the tasks that are open again; the others learn of them by id, so that one
// of them can claim them. Who has left hears nothing: mail to it would wait for a life
// that may never come.
func (d departures) parted(ctx context.Context, s *Seat, reason string, released []tasks.Task) error {
	others := []string{}
	for _, other := range d.crew.seats.All() {
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
	_, err := d.crew.store.Mail().Send(ctx, actors.Actor{}, mail.Outgoing{
		To: others, Kind: mail.Terminated, Text: text, Summary: mail.Summary(text),
		Data: notation.Encode(mail.Termination{
			Type: mail.Terminated, From: s.Member.Name, Reason: reason, TaskIDs: ids, Timestamp: d.crew.clock.Now(),
		}),
	})
	return err
}

// EndMember ends a member, and waits until it has left or says that it stays.
//
// It blocks for as long as the member may take to answer, and then until it has gone; ctx
// ends with the connection of whoever asks, and what was begun goes on without them.
func (c *Crew) EndMember(ctx context.Context, e api.EndMember) (api.EndReply, error) {
	by := actors.Actor{Name: actors.Operator}
	if e.Now {
		if err := (departures{c}).mayEnd(by, e.Member); err != nil {
			return api.EndReply{}, err
		}
		s, _ := c.seats.Of(e.Member)
		reason := "a person ended it"
		if e.Reason != "" {
			reason += ": " + notation.Preview(e.Reason, 500)
		}
		departures{c}.dismissMember(ctx, s, reason, 0)
		return awaitGone(ctx, s, api.EndReply{})
	}
	r, err := c.AskToEnd(ctx, by, e.Member, Farewell{Reason: e.Reason, Wait: e.Wait})
	if err != nil {
		return api.EndReply{}, err
	}
	reply := api.EndReply{Request: r.ID}
	if r, err = c.asks.Wait(ctx, r.ID); err != nil {
		return reply, err
	}
	if !r.Approved() {
		reply.Reason = strings.TrimSuffix(inbox.ClosingText(r), ".")
		return reply, nil
	}
	s, ok := c.seats.Of(e.Member)
	if !ok {
		return reply, c.board.Known(e.Member)
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
	reply.Gone = reply.Reason != ""
	return reply, nil
}
