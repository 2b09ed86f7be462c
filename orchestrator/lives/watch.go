package lives

import (
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/teammate/agent"
)

// Watch knows the members of one team. The zero Watch knows of no events. Its methods may
// be called from any goroutine.
type Watch struct {
	mu      sync.Mutex
	members map[string]*activity
	owed    map[string]string // mail that members are being given
}

// Activity is what a member has done in this run.
type Activity struct {
	Turn, Pass int
	InTurn     bool
	Doing      string // for people; empty: nothing
	LastText   string
	Refusals   int
	Unreported []string // tasks that it completed since it last wrote to the lead
}

// activity is an Activity with what only the watchdog needs.
type activity struct {
	Activity
	open      []openCall // of this turn
	beats     uint64     // events
	calls     int        // tool calls under way
	hooking   int        // hooks under way
	heldUp    bool       // an agent program says nothing, since the last event
	endedWell int        // turns that have ended as they should
}

// of is what a member does. w.mu is held.
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

// change changes what is known of a member.
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

// See takes in an event of a member.
func (w *Watch) See(member string, e agent.Event) { w.change(member, func(a *activity) { a.see(e) }) }

// SetDoing notes what a member does outside of its turns; empty: nothing.
func (w *Watch) SetDoing(member, what string) { w.change(member, func(a *activity) { a.Doing = what }) }

// Completed notes that a member has completed tasks of which the lead has not heard.
func (w *Watch) Completed(member string, tasks ...string) {
	w.change(member, func(a *activity) { a.Unreported = append(a.Unreported, tasks...) })
}

// Reported notes that a member has written to the lead.
func (w *Watch) Reported(member string) { w.change(member, func(a *activity) { a.Unreported = nil }) }

// BeginAnew notes that a member has begun another life. It is in no turn.
func (w *Watch) BeginAnew(member string) {
	w.change(member, func(a *activity) { a.InTurn, a.Doing = false, "" })
}

// Forget drops what is known of a member that has left the team.
func (w *Watch) Forget(member string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.members, member)
}

// Owe notes the mail that members are about to be given, and once more when
// they have it: what stands there for long was not given.
//
// It is called with the scene and the moves that are about to be made. A mark that
// is the same round after round means that the move was made and came to nothing. Only
// the first unread message counts as the mark: more mail must not set the clock back.
func (w *Watch) Owe(s plan.Scene, moves []plan.Move) {
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
	w.owed = owed
}

// see takes in one event.
func (a *activity) see(e agent.Event) {
	a.Turn = max(a.Turn, e.Turn)
	a.beat(e.Data)
	if e.Helper != "" {
		a.seeHelper(e)
		return
	}
	switch data := e.Data.(type) {
	case agent.TurnStarted:
		a.InTurn, a.Pass, a.Doing, a.open = true, 0, "starting a turn", nil
	case agent.PassStarted:
		a.Pass, a.Doing = data.Pass, "thinking"
	case agent.TextSaid:
		a.LastText, a.Doing = data.Text, "thinking"
	case agent.ToolCalled:
		a.open = append(a.open, openCall{data.ID, notation.OneLine(data.Name + " " + notation.MainInput(data.Input))})
		a.Doing = a.open[0].text
	case agent.ToolReturned:
		a.open = slices.DeleteFunc(a.open, func(c openCall) bool { return c.id == data.ID })
		a.Doing = a.busyWith()
	case agent.HeldUp:
		a.Doing = data.For
	case agent.HookStarted:
		a.Doing = data.Event + " hooks"
	case agent.HookFinished:
		if a.hooking == 0 && len(a.open) > 0 { // others of the same event may run yet
			a.Doing = a.busyWith()
		}
	case agent.HookFeedback:
		a.Refusals++
	case agent.TurnEnded:
		a.InTurn, a.Doing, a.open = false, "", nil
	}
}

// openCall is a tool call that has no result yet, in words for people.
type openCall struct{ id, text string }

// busyWith is what a member does when nothing else is known: the first call that has no
// result, since those of one pass are made in order, or it thinks.
func (a *activity) busyWith() string {
	if len(a.open) > 0 {
		return a.open[0].text
	}
	return "thinking"
}

// seeHelper takes in what happened to a helper of the member: it works for the
// member, but its words are not the member's.
func (a *activity) seeHelper(e agent.Event) {
	switch data := e.Data.(type) {
	case agent.HookFeedback:
		a.Refusals++
	case agent.ToolCalled:
		if a.InTurn {
			a.Doing = "helper: " + notation.OneLine(data.Name+" "+notation.MainInput(data.Input))
		}
	}
}

// beat counts what a member does. The mutex of Watch is held.
//
// Warnings and notifications are no sign of life: covey itself writes them, some about
// the very member that hangs. Counts of calls and hooks never fall below zero, because each
// turn begins at zero, and the end of a call from before it may still come in.
func (a *activity) beat(e agent.EventData) {
	switch data := e.(type) {
	case agent.Warning, agent.Notified:
		return
	case agent.HeldUp:
		a.heldUp = true
		return
	case agent.TurnStarted:
		a.calls, a.hooking = 0, 0
	case agent.ToolCalled:
		a.calls++
	case agent.ToolReturned:
		a.calls = max(a.calls-1, 0)
	case agent.HookStarted:
		a.hooking++
	case agent.HookFinished:
		a.hooking = max(a.hooking-1, 0)
	case agent.TurnEnded:
		a.calls, a.hooking = 0, 0
		if data.Reason == agent.EndCompleted {
			a.endedWell++
		}
	}
	a.beats, a.heldUp = a.beats+1, false
}
