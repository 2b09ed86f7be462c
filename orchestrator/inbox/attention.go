package inbox

import (
	"context"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// Attention tracks the members that cannot go on without a person or mail. Its
// methods may be called from any goroutine.
type Attention struct {
	inbox *Inbox

	mu      sync.Mutex
	members map[string]trouble
}

// trouble is why a member needs attention.
type trouble struct {
	reason     string
	tasks      string // fingerprint of the tasks that the member makes no progress on; empty: another reason
	unanswered string // the requests that it does not answer (plan.Seat); empty: another reason
}

// change updates the trouble of a member.
func (a *Attention) change(member string, do func(*trouble)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.members[member]
	do(&t)
	a.set(member, t)
}

// set replaces the trouble of a member, and reports the end of its need for attention. a.mu must be
// held, so that the reports have the order of the changes.
func (a *Attention) set(member string, t trouble) {
	if t.reason == "" && a.members[member].reason != "" {
		defer a.inbox.report(member, events.AttentionOver{})
	}
	if t == (trouble{}) {
		delete(a.members, member)
		return
	}
	a.members[member] = t
}

// Need records that a member needs attention, and asks a person, unless that
// question is open. Nobody waits for the answer, so the question has no deadline.
func (a *Attention) Need(ctx context.Context, member, reason string) error {
	a.change(member, func(t *trouble) { t.reason = reason })
	a.inbox.deps.Changed()
	_, err := a.inbox.Ask(ctx, actors.Actor{Name: member}, requests.New{
		Kind: requests.AskAttention, Member: member, To: actors.Operator, Key: "attention",
		Text: fmt.Sprintf("%s needs attention: %s\n(approve: it goes on, with your feedback as a message; "+
			"deny: it stays as it is)", member, texts.Preview(reason, 4000)),
	})
	return err
}

// Stuck records the fingerprint of tasks that a member makes no progress on.
func (a *Attention) Stuck(member, tasks string) {
	a.change(member, func(t *trouble) { t.tasks = tasks })
}

// Ignores records the requests that a member does not answer.
func (a *Attention) Ignores(member, unanswered string) {
	a.change(member, func(t *trouble) { t.unanswered = unanswered })
}

// clear drops the trouble of a member.
func (a *Attention) clear(member string) {
	a.change(member, func(t *trouble) { *t = trouble{} })
}

// ClearReason drops the reason why a member needs attention, but not the tasks of
// Stuck.
func (a *Attention) ClearReason(member string) {
	a.change(member, func(t *trouble) { t.reason = "" })
}

// ClearSolved clears the attention of members whose trouble is solved: the tasks
// that they made no progress on have changed since, the requests that they did not
// answer are closed, or their limits were raised.
// It sets the Attention of all seats in trouble, and returns the members whose trouble
// is solved; the questions about them are to be withdrawn.
//
// Without it a member would stay in trouble over a task that now belongs to
// another member, and the team would end as unfinished. raised must not call a.
func (a *Attention) ClearSolved(s *plan.Scene, raised func(member string) bool) (solved []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range s.Seats {
		seat := &s.Seats[i]
		over := raised(seat.Name) // call it for each member, because it reports a raise only once
		t, troubled := a.members[seat.Name]
		if !troubled {
			continue
		}
		if t.tasks != "" && t.tasks != plan.Fingerprint(s.Actable(seat.Name)) {
			t = trouble{}
		}
		if t.unanswered != "" && t.unanswered != seat.Unanswered {
			t = trouble{}
		}
		if over {
			t.reason = ""
		}
		a.set(seat.Name, t)
		if seat.Attention = t.reason; t.reason == "" {
			solved = append(solved, seat.Name)
		}
	}
	return solved
}

// WithdrawQuestion withdraws the question about a member that works again. It only logs an
// error, which must not keep the member from its work.
func (a *Attention) WithdrawQuestion(ctx context.Context, member string) {
	a.inbox.logError(ctx, a.inbox.withdrawAll(ctx, member+" works again", func(r requests.Request) bool {
		return r.Kind == requests.AskAttention && r.Member == member
	}))
}
