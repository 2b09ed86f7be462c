package orchestrator

import (
	"context"
	"fmt"
	"net/url"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// maxPayload bounds the payload of a request in a list, in bytes; the request by itself
// shows all of it.
const maxPayload = 4 << 10

// inbox answers an InboxQuery.
func (q commands) inbox(ctx context.Context, which api.InboxQuery) ([]requests.Request, error) {
	if which.ID != "" {
		r, err := q.t.Asks.Find(ctx, actors.Operator, which.ID)
		return []requests.Request{r}, err
	}
	return inboxList(ctx, q.t.Store, which.All)
}

// inboxList reads questions from a store: the oldest open ones, or the newest of all, at most
// api.InboxMost. Long payloads are left out; a query by id returns them.
func inboxList(ctx context.Context, store *tasks.Store, all bool) ([]requests.Request, error) {
	list, err := store.Requests().Open(ctx, "")
	if all {
		list, err = store.Requests().List(ctx)
	}
	if err != nil {
		return nil, err
	}
	// The list comes from the store as a copy, so clearing a payload changes nothing there.
	for i := range list {
		if len(list[i].Payload) > maxPayload {
			list[i].Payload = nil
		}
	}
	if all {
		return list[max(0, len(list)-api.InboxMost):], nil
	}
	return list[:min(len(list), api.InboxMost)], nil
}

// answer processes a person's answer.
func (q commands) answer(ctx context.Context, a api.InboxAnswer) (requests.Request, error) {
	// Find by id only: by now the member may ask something else.
	r, err := q.t.Asks.Find(ctx, "", a.ID)
	if err != nil {
		return r, err
	}
	if err := inbox.MayAnswer(r, a.Mode); err != nil {
		return r, err
	}
	return q.t.Asks.Answer(ctx, actors.Actor{Name: actors.Operator}, inbox.Answer{
		ID: r.ID, Approve: a.Approve, Text: a.Feedback, Mode: a.Mode,
	})
}

// sendBack returns finished work to its author. An open question about it is denied, because
// it would be left without an answer otherwise.
func (q commands) sendBack(ctx context.Context, r api.ReturnRequest) (api.ReturnReply, error) {
	open, err := q.t.Store.Requests().Open(ctx, "")
	if err != nil {
		return api.ReturnReply{}, fmt.Errorf("the questions about task %s: %w", r.Task, err)
	}
	asked, found := merging.QuestionAbout(open, r.Task)
	if !found {
		return q.t.Merges.Return(ctx, r)
	}
	_, err = q.answer(ctx, api.InboxAnswer{ID: asked.ID, Feedback: r.Text})
	return api.ReturnReply{How: api.ReturnedDenied, Task: r.Task, Member: asked.Member}, err
}

// withoutToken returns the address of a web page without the token that opens it.
func withoutToken(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.String()
}

// link looks at a link that answers a request, or answers with it as a person.
func (q commands) link(ctx context.Context, l api.Link) (api.LinkReply, error) {
	if !l.Answer {
		s, err := q.t.people.Links.Look(ctx, l.Token)
		return api.LinkReply(s), err
	}
	answer := func(ctx context.Context, id string) (requests.Request, error) {
		return q.answer(ctx, api.InboxAnswer{ID: id, Approve: l.Approve, Feedback: l.Feedback})
	}
	s, err := q.t.people.Links.Use(ctx, l.Token, answer)
	return api.LinkReply(s), err
}
