package members

import (
	"context"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/plan"
)

// Watch finds members that make no progress, by their events. The zero Watch has seen none. Any
// goroutine may call its methods.
type Watch struct {
	mu      sync.Mutex
	members map[string]*activity
	due     map[string]string // marks of mail that is due, by member
}

// activity is what the watchdog counts of a member.
type activity struct {
	turn      int
	beats     uint64 // events
	calls     int    // tool calls under way
	hooking   int    // hooks under way
	heldUp    bool   // an agent program has been silent since the last event
	endedWell int    // turns that ended well
}

// of returns the activity of a member. w.mu must be held.
func (w *Watch) of(member string) *activity {
	a := w.members[member]
	if a == nil {
		if w.members == nil {
			w.members = map[string]*activity{}
		}
		a = &activity{}
		w.members[member] = a
	}
	return a
}

// Saw counts an event of a member. It implements crew.Watcher.
func (w *Watch) Saw(_ context.Context, m *Member, e events.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.of(m.Name)
	a.turn = max(a.turn, e.Turn)
	a.beat(e.Data)
	return nil
}

// Left drops a member that has left the team. It implements crew.Leaver.
func (w *Watch) Left(_ context.Context, member string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.members, member)
	return nil
}

// RecordDue records the mail that members are about to get. Call it before and after the moves
// of each round: a mark that stays was not delivered.
//
// Only the first unread message counts as the mark, because more mail must not restart
// the time.
func (w *Watch) RecordDue(s plan.Scene, moves []plan.Move) {
	given := map[string]bool{}
	for _, m := range moves {
		if m.Kind == plan.GiveMail {
			given[m.Member] = true
		}
	}
	owed := map[string]string{}
	for i := range s.Seats {
		if v := &s.Seats[i]; given[v.Name] && len(v.Unread) > 0 {
			owed[v.Name] = v.Unread[0].ID
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = owed
}

// beat counts signs of life. Watch.mu must be held.
//
// Warnings and notifications do not count, because covey itself writes them, some about
// the member that hangs. Counts of calls and hooks never become negative, because each
// turn starts at zero and the end of an earlier call may still arrive.
func (a *activity) beat(e events.Data) {
	switch data := e.(type) {
	case events.Warning, events.Notification:
		return
	case events.HeldUp:
		a.heldUp = true
		return
	case events.TurnStarted:
		a.calls, a.hooking = 0, 0
	case events.ToolCalled:
		a.calls++
	case events.ToolReturned:
		a.calls = max(a.calls-1, 0)
	case events.HookStarted:
		a.hooking++
	case events.HookFinished:
		a.hooking = max(a.hooking-1, 0)
	case events.TurnEnded:
		a.calls, a.hooking = 0, 0
		if data.Reason == events.EndCompleted {
			a.endedWell++
		}
	}
	a.beats, a.heldUp = a.beats+1, false
}
