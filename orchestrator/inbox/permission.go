package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
)

// Asker puts a member's tool calls before people. It is a teammate.Asker.
type Asker struct {
	inbox  *Inbox
	member string
}

// Asker returns that of a member.
func (b *Inbox) Asker(member string) Asker { return Asker{b, member} }

// Present reports whether anybody would answer (DESIGN 10.4).
func (a Asker) Present() bool { return a.inbox.Present() }

// Ask waits in the inbox for an answer. A call that a crash cut off asks the
// same question when it is made again: so an answer that came meanwhile counts.
//
// The member's goroutine waits here, with its slot lent to others. An error is no answer:
// the zero Answer allows nothing.
func (a Asker) Ask(ctx context.Context, q teammate.Question) teammate.Answer {
	b, member := a.inbox, a.member
	r, err := b.Ask(ctx, actors.Actor{Name: member}, permissionRequest(member, q, b.limit))
	if err != nil {
		b.fault(ctx, fmt.Errorf("ask for %s: %w", member, err))
		return teammate.Answer{}
	}
	back := a.stepAside("permission to use " + q.Call.Name)
	done, err := b.Wait(ctx, r.ID)
	if err == nil {
		err = back(ctx)
	}
	if err != nil {
		a.drop(context.WithoutCancel(ctx), r.ID)
		return teammate.Answer{}
	}
	// A call runs only behind an answer that was taken: by that Unbegun tells the two apart.
	if err := b.ports.Store.Requests().MarkTaken(ctx, r.ID); err != nil {
		b.fault(ctx, fmt.Errorf("take the answer to %s: %w", r.ID, err))
		return teammate.Answer{}
	}
	return permissionAnswer(done)
}

// Unbegun is agent.Reminder's: the call's question is there, and no answer was taken.
// A question that was withdrawn is of a call that was broken off, and not to be made again.
func (a Asker) Unbegun(ctx context.Context, callID string) bool {
	b := a.inbox
	if callID == "" {
		return false
	}
	all, err := b.ports.Store.Requests().List(ctx)
	if err != nil {
		b.fault(ctx, fmt.Errorf("what %s has asked: %w", a.member, err))
	}
	return slices.ContainsFunc(all, func(r requests.Request) bool {
		return r.Kind == requests.AskPermission && r.Member == a.member && PayloadOf(r).Call == callID &&
			!r.Taken && r.State != requests.Withdrawn
	})
}

// drop is for a question whose call is over: interrupted, out of time, or given
// up by its program. While the team ends the question stays, for the member
// makes the call again in its next life.
//
// Its ctx has outlived the call's, for a question that stays open by mistake would stand
// before people until its deadline.
func (a Asker) drop(ctx context.Context, id string) {
	b := a.inbox
	b.asides.set(a.member, "")
	if b.ending() {
		return
	}
	b.fault(ctx, b.withdraw(ctx, id, "the call was broken off"))
}

// permissionRequest is the question whether a member may make a call.
//
// The key is of the tool and its input: the same call made again is the same question.
func permissionRequest(member string, q teammate.Question, limit time.Duration) requests.New {
	text := fmt.Sprintf("%s asks to use %s", member, q.Call.Name)
	if input := notation.MainInput(q.Call.Input); input != "" {
		text += ": " + notation.Preview(input, 2000)
	}
	return requests.New{
		Kind: requests.AskPermission, Member: member, To: actors.Operator, Key: requests.KeyOf(q.Call.Name,
			q.Call.Input),
		Text: text + " (" + notation.Preview(q.Reason, 500) + ")", Wait: limit,
		Payload: notation.Encode(Payload{
			Tool: q.Call.Name, Call: q.Call.ID, Input: asJSON(q.Call.Input), Reason: q.Reason,
		}),
	}
}

// asJSON is an input as a payload can hold it.
func asJSON(input json.RawMessage) json.RawMessage {
	if json.Valid(input) {
		return input
	}
	return notation.Encode(string(input))
}

// permissionAnswer is what a closed request means for its call.
func permissionAnswer(r requests.Request) teammate.Answer {
	switch r.State {
	case requests.Expired:
		return teammate.Answer{Allow: r.Default, By: teammate.ByTimeLimit}
	case requests.Approved, requests.Denied:
		return teammate.Answer{Allow: r.Approved(), By: r.By, Said: r.Feedback}
	}
	return teammate.Answer{}
}

// asides has what members wait for in the middle of their turns.
type asides struct {
	mu      sync.Mutex
	members map[string]string
}

// set notes what a member waits for; empty: nothing.
func (a *asides) set(member, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if what == "" {
		delete(a.members, member)
		return
	}
	if a.members == nil {
		a.members = map[string]string{}
	}
	a.members[member] = what
}

// Aside returns what a member waits for in the middle of its turn; empty: nothing.
func (b *Inbox) Aside(member string) string {
	b.asides.mu.Lock()
	defer b.asides.mu.Unlock()
	return b.asides.members[member]
}

// stepAside notes what the member waits for in the middle of its turn, and lends
// its agent's slot to whoever waits for one: it needs none while it waits. back
// ends the wait and takes one again. It must be called once.
func (a Asker) stepAside(what string) (back func(ctx context.Context) error) {
	asides := &a.inbox.asides
	asides.set(a.member, what)
	takeBack := a.inbox.ports.Lend(a.member)
	return func(ctx context.Context) error {
		defer asides.set(a.member, "")
		return takeBack(ctx)
	}
}
