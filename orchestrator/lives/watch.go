package lives

import (
	"context"
	"slices"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/plan"
)

// Watch tracks the events of a team's members. The zero Watch has seen none. Any
// goroutine may call its methods.
type Watch struct {
	mu      sync.Mutex
	members map[string]*activity
	due     map[string]string // marks of mail that is due, by member
}

// Activity is what a member has done in this run.
type Activity struct {
	Turn, Pass int
	InTurn     bool
	Doing      string // for people; empty: nothing
	LastText   string
	Unreported []string // tasks completed since its last message to the lead
	Refused    string   // the last line of a refused completion since it had other work than reminders
}

// activity is an Activity with the counts for the watchdog.
type activity struct {
	Activity
	open      []openCall // open calls of this turn
	beats     uint64     // events
	calls     int        // tool calls under way
	hooking   int        // hooks under way
	heldUp    bool       // an agent program has been silent since the last event
	endedWell int        // turns that ended well
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

// change edits the activity of a member.
func (w *Watch) change(member string, do func(*activity)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do(w.of(member))
}

// Of returns what a member has done.
func (w *Watch) Of(member string) Activity {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.members[member]; a != nil {
		return a.Activity
	}
	return Activity{}
}

// Record processes an event of a member.
func (w *Watch) Record(member string, e events.Event) {
	w.change(member, func(a *activity) { a.record(e) })
}

// SetDoing sets what a member does outside of its turns; empty: nothing.
func (w *Watch) SetDoing(member, what string) { w.change(member, func(a *activity) { a.Doing = what }) }

// Completed records tasks that a member has completed and not reported to the lead.
func (w *Watch) Completed(member string, tasks ...string) {
	w.change(member, func(a *activity) { a.Unreported = append(a.Unreported, tasks...) })
}

// Reported records that a member has written to the lead.
func (w *Watch) Reported(member string) { w.change(member, func(a *activity) { a.Unreported = nil }) }

// Rejoined records that a member has another life, which is in no turn. It implements
// crew.Rejoiner.
func (w *Watch) Rejoined(_ context.Context, m *Member, _ Return) error {
	w.change(m.Name, func(a *activity) { a.InTurn, a.Doing = false, "" })
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

// record processes one event.
func (a *activity) record(e events.Event) {
	a.Turn = max(a.Turn, e.Turn)
	a.beat(e.Data)
	if e.Helper != "" {
		a.seeHelper(e)
		return
	}
	switch data := e.Data.(type) {
	case events.TurnStarted:
		a.InTurn, a.Pass, a.Doing, a.open = true, 0, "starting a turn", nil
		if data.Cause != events.ByNudge {
			a.Refused = ""
		}
	case events.PassStarted:
		a.Pass, a.Doing = data.Pass, "thinking"
	case events.TextSaid:
		a.LastText, a.Doing = data.Text, "thinking"
	case events.ToolCalled:
		a.open = append(a.open, openCall{data.ID, notation.OneLine(data.Name + " " + notation.MainInput(data.Input))})
		a.Doing = a.open[0].text
	case events.ToolReturned:
		a.open = slices.DeleteFunc(a.open, func(c openCall) bool { return c.id == data.ID })
		a.Doing = a.busyWith()
	case events.ProgramStarts:
		if a.Doing = "starting " + data.Program; data.Ready {
			a.Doing = a.busyWith()
		}
	case events.HeldUp:
		a.Doing = data.For
	case events.HookFeedback:
		if data.Event == string(hooks.TaskCompleted) {
			a.Refused = notation.LastLine(hooklist.Feedback(data.Event, data.Text))
		}
	case events.HookStarted:
		a.Doing = data.Event + " hooks"
	case events.HookFinished:
		if a.hooking == 0 && len(a.open) > 0 { // others of the same event may still run
			a.Doing = a.busyWith()
		}
	case events.TurnEnded:
		a.InTurn, a.Doing, a.open = false, "", nil
	}
}

// openCall is a tool call without a result, described for people.
type openCall struct{ id, text string }

// busyWith returns what a member does if nothing else is known: the first call without a
// result, because the calls of a pass run in order, or thinking.
func (a *activity) busyWith() string {
	if len(a.open) > 0 {
		return a.open[0].text
	}
	return "thinking"
}

// seeHelper processes an event of the member's helper: it is the member's work, but not
// its text.
func (a *activity) seeHelper(e events.Event) {
	if call, ok := e.Data.(events.ToolCalled); ok && a.InTurn {
		a.Doing = "helper: " + notation.OneLine(call.Name+" "+notation.MainInput(call.Input))
	}
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
