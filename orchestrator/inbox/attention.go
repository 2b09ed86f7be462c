package inbox

import (
	"context"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// Attention has the members that only a person, or mail, can help on. Its methods may be
// called from any goroutine.
type Attention struct {
	inbox *Inbox

	mu      sync.Mutex
	members map[string]trouble
}

// trouble is what a member needs attention for.
type trouble struct {
	reason string
	tasks  string // fingerprint of the tasks that the member does not get on with; empty: it is about something else
}

// change changes the trouble of a member.
func (a *Attention) change(member string, do func(*trouble)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.members[member]
	do(&t)
	a.set(member, t)
}

// set changes the trouble of a member. a.mu is held.
func (a *Attention) set(member string, t trouble) {
	if t == (trouble{}) {
		delete(a.members, member)
		return
	}
	a.members[member] = t
}

// Of returns why a member needs attention; empty: it does not.
func (a *Attention) Of(member string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.members[member].reason
}

// Need notes that a member needs attention, and puts it into the inbox, once for
// each trouble. more is what a person has to know besides. Nobody waits for the answer,
// so the question has no deadline.
func (a *Attention) Need(ctx context.Context, member, reason, more string) error {
	a.change(member, func(t *trouble) { t.reason = reason })
	a.inbox.ports.Changed()
	_, err := a.inbox.Ask(ctx, actors.Actor{Name: member}, requests.New{
		Kind: requests.AskAttention, Member: member, To: actors.Operator, Key: "attention",
		Text: fmt.Sprintf("%s needs attention: %s", member, notation.Preview(reason+more, 4000)),
	})
	return err
}

// Stuck notes that a member will need attention for tasks that it does not get on with,
// by their fingerprint.
func (a *Attention) Stuck(member, tasks string) {
	a.change(member, func(t *trouble) { t.tasks = tasks })
}

// Clear notes that a member needs attention no more.
func (a *Attention) Clear(member string) {
	a.change(member, func(t *trouble) { *t = trouble{} })
}

// ClearReason notes that a member is over the reason for which it needs attention.
func (a *Attention) ClearReason(member string) {
	a.change(member, func(t *trouble) { t.reason = "" })
}

// ClearSolved takes the attention from members whose trouble has gone: the tasks that they
// did not get on with have been changed since, or their limits were raised.
//
// Without it a member would stay in trouble over a task that has long been another one's,
// and the team would end unfinished though all is done. raised must not call a.
func (a *Attention) ClearSolved(s *plan.Scene, raised func(member string) bool) {
	var index *plan.TaskIndex // in most scenes nobody is stuck
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range s.Seats {
		seat := &s.Seats[i]
		over := raised(seat.Name) // it says so once
		t, troubled := a.members[seat.Name]
		if !troubled {
			continue
		}
		if t.tasks != "" {
			if index == nil {
				index = plan.IndexTasks(s.Tasks)
			}
			if t.tasks != plan.Fingerprint(index.Actable(seat.Name)) {
				t = trouble{}
			}
		}
		if over {
			t.reason = ""
		}
		a.set(seat.Name, t)
		seat.Attention = t.reason
	}
}

// Calm takes a member's trouble out of the inbox: it works again. An error is no reason to
// keep the member from its work, so it is only noted.
func (a *Attention) Calm(ctx context.Context, member string) {
	a.inbox.fault(ctx, a.inbox.withdrawAll(ctx, member+" works again", func(r requests.Request) bool {
		return r.Kind == requests.AskAttention && r.Member == member
	}))
}
