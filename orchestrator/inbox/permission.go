package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Asker asks people for permission to make a member's tool calls. It implements
// teammate.Asker.
type Asker struct {
	inbox  *Inbox
	member string
}

// Asker returns the Asker of a member.
func (b *Inbox) Asker(member string) Asker { return Asker{b, member} }

// Present reports whether a person may answer.
func (a Asker) Present() bool { return a.inbox.Present() }

// Ask asks a person and waits for the answer. A call that is repeated after a
// crash asks the same question, so an answer that came meanwhile counts.
//
// The member's goroutine waits here and lends its slot to others. On an error Ask
// returns the zero Answer, which allows nothing.
func (a Asker) Ask(ctx context.Context, q teammate.Question) teammate.Answer {
	b, member := a.inbox, a.member
	r, err := b.Ask(ctx, actors.Actor{Name: member}, permissionRequest(member, q, b.limit))
	if err != nil {
		b.logError(ctx, fmt.Errorf("ask for %s: %w", member, err))
		return teammate.Answer{}
	}
	end := a.beginWait("permission to use " + named(q.Call))
	done, err := b.Wait(ctx, r.ID)
	if err = errors.Join(err, end(ctx)); err != nil {
		a.drop(context.WithoutCancel(ctx), r.ID)
		return teammate.Answer{}
	}
	// A call runs only after its answer is marked as taken, because Unbegun
	// relies on the mark.
	if err := b.deps.Store.Requests().MarkTaken(ctx, r.ID); err != nil {
		b.logError(ctx, fmt.Errorf("take the answer to %s: %w", r.ID, err))
		return teammate.Answer{}
	}
	return permissionAnswer(done)
}

// Unbegun implements agent.Reminder. It reports whether a call was asked about
// and no answer was taken. A withdrawn question does not count: its call was
// canceled and must not run again.
func (a Asker) Unbegun(ctx context.Context, callID string) bool {
	b := a.inbox
	if callID == "" {
		return false
	}
	all, err := b.deps.Store.Requests().List(ctx)
	if err != nil {
		b.logError(ctx, fmt.Errorf("list the requests of %s: %w", a.member, err))
	}
	return slices.ContainsFunc(all, func(r requests.Request) bool {
		return r.Kind == requests.AskPermission && r.Member == a.member && PayloadOf(r).Call == callID &&
			!r.Taken && r.State != requests.Withdrawn
	})
}

// drop withdraws the question of a call that was interrupted, timed out or
// canceled. If the team is ending the question stays, because the member makes
// the call again in the next run.
//
// ctx must not be the call's, which may have ended: a question that stays open by
// mistake is shown to people until its deadline.
func (a Asker) drop(ctx context.Context, id string) {
	b := a.inbox
	if b.ending() {
		return
	}
	b.logError(ctx, b.Withdraw(ctx, id, "the call was broken off"))
}

// permissionRequest returns the question whether a member may make a call. Its
// key is made of the tool and the input, so that a repeated call is the same
// question.
func permissionRequest(member string, q teammate.Question, limit time.Duration) requests.New {
	text := member + " asks to use " + named(q.Call)
	return requests.New{
		Kind: requests.AskPermission, Member: member, To: actors.Operator, Key: requests.KeyOf(q.Call.Name,
			q.Call.Input),
		Text: text + " (" + texts.Preview(q.Reason, 500) + ")", Wait: limit,
		Payload: texts.Encode(Payload{
			Tool: q.Call.Name, Call: q.Call.ID, Input: asJSON(q.Call.Input), Reason: q.Reason,
		}),
	}
}

// named returns the tool of a call and the input that people know the call by.
func named(c agent.ToolCall) string {
	if input := texts.MainInput(c.Input); input != "" {
		return c.Name + ": " + texts.Preview(input, 2000)
	}
	return c.Name
}

// asJSON returns an input as valid JSON, for a payload.
func asJSON(input json.RawMessage) json.RawMessage {
	if json.Valid(input) {
		return input
	}
	return texts.Encode(string(input))
}

// permissionAnswer returns the answer in a closed request.
func permissionAnswer(r requests.Request) teammate.Answer {
	switch r.State {
	case requests.Expired:
		return teammate.Answer{Allow: r.Default, By: teammate.ByTimeLimit}
	case requests.Approved, requests.Denied:
		return teammate.Answer{Allow: r.Approved(), By: r.By, Said: r.Feedback}
	}
	return teammate.Answer{}
}

// beginWait reports what the member waits for within its turn, and lends its slot
// to other members meanwhile. end ends the wait and waits for a slot; it must be
// called once.
func (a Asker) beginWait(what string) (end func(ctx context.Context) error) {
	a.inbox.report(a.member, events.Waiting{Kind: events.ForAnswer, For: what})
	takeBack := a.inbox.deps.Lend(a.member)
	return func(ctx context.Context) error {
		defer a.inbox.report(a.member, events.Waiting{Kind: events.ForAnswer})
		return takeBack(ctx)
	}
}
