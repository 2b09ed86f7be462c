package orchestrator

import (
	"context"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// maxPayload is how much of a payload a list shows; more of it shows with the
// request alone.
const maxPayload = 4 << 10

// inbox answers an InboxQuery.
func (q commands) inbox(ctx context.Context, which api.InboxQuery) ([]requests.Request, error) {
	if which.ID != "" {
		r, err := q.c.asks.Find(ctx, actors.Operator, which.ID)
		return []requests.Request{r}, err
	}
	return inboxList(ctx, q.c.store, which.All)
}

// inboxList reads the questions from a store.
//
// The newest 200 are given. Payloads that are left out are to be had with the id.
func inboxList(ctx context.Context, store *tasks.Store, all bool) ([]requests.Request, error) {
	list, err := store.Requests().Open(ctx, "")
	if all {
		list, err = store.Requests().List(ctx)
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		if len(list[i].Payload) > maxPayload {
			list[i].Payload = nil
		}
	}
	const most = 200 // a page of answers may not be larger than the bus allows
	return list[max(0, len(list)-most):], nil
}

// answer takes in a person's answer.
func (q commands) answer(ctx context.Context, a api.InboxAnswer) (requests.Request, error) {
	// Not by name: what a member asks may be something else by now.
	r, err := q.c.asks.Find(ctx, "", a.ID)
	if err != nil {
		return r, err
	}
	if err := inbox.MayAnswer(r, a.Mode); err != nil {
		return r, err
	}
	return q.c.asks.Answer(ctx, actors.Actor{Name: actors.Operator}, inbox.Answer{
		ID: r.ID, Approve: a.Approve, Text: a.Feedback, Mode: a.Mode,
	})
}

// endMember ends a member, and waits until it has left or says that it stays.
//
// It blocks for as long as the member may take to answer, and then until it has gone; ctx
// ends with the connection of whoever asks, and what was begun goes on without them.
func (q commands) endMember(ctx context.Context, e api.EndMember) (api.EndReply, error) {
	by := actors.Actor{Name: actors.Operator}
	if e.Now {
		if err := (departures{q.c}).mayEnd(by, e.Member); err != nil {
			return api.EndReply{}, err
		}
		s, _ := q.c.seating.of(e.Member)
		reason := "a person ended it"
		if e.Reason != "" {
			reason += ": " + notation.Preview(e.Reason, 500)
		}
		departures{q.c}.dismissMember(ctx, s, reason, 0)
		return q.awaitGone(ctx, s, api.EndReply{})
	}
	r, err := departures{q.c}.askToEnd(ctx, by, e.Member, farewell{Reason: e.Reason, Wait: e.Wait})
	if err != nil {
		return api.EndReply{}, err
	}
	reply := api.EndReply{Request: r.ID}
	if r, err = q.c.asks.Wait(ctx, r.ID); err != nil {
		return reply, err
	}
	if !r.Approved() {
		reply.Reason = strings.TrimSuffix(inbox.ClosingText(r), ".")
		return reply, nil
	}
	s, ok := q.c.seating.of(e.Member)
	if !ok {
		return reply, q.c.board.Known(e.Member)
	}
	return q.awaitGone(ctx, s, reply)
}

// awaitGone waits until a member has left.
func (q commands) awaitGone(ctx context.Context, s *seat, reply api.EndReply) (api.EndReply, error) {
	select {
	case <-s.life.Left():
	case <-ctx.Done():
		return reply, context.Cause(ctx)
	}
	reply.Reason = s.life.State().Gone
	reply.Gone = reply.Reason != ""
	return reply, nil
}
