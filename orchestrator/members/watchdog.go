package members

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/events"
)

// The watchdog finds members that are not idle and make no progress. It counts its own
// rounds and reads no clock: a machine that slept, a clock that was set and a stopped
// covey look like one short round.

const (
	// WatchInterval is the time between two rounds.
	WatchInterval = 30 * time.Second
	// quietLimit is how long a turn may be silent while its agent thinks, and callLimit
	// while a tool call or hook runs, if the member has no limits.turn_timeout. Tools and
	// hooks have shorter limits.
	quietLimit = 30 * time.Minute
	callLimit  = 2 * time.Hour
	// endLimit is how long an interrupted turn may take to end.
	endLimit = 2 * time.Minute
	// mailLimit is how long an idle member may wait for its unread mail.
	mailLimit = 2 * time.Minute
)

// What is done about a member.
const (
	TurnInterrupted = "interrupted"
	LifeEnded       = "ended"
	MemberGivenUp   = "given up"
	LookedAgain     = "looked again"
)

// Watched describes a member to the watchdog.
type Watched struct {
	Name   string
	InTurn bool          // its session has begun, and it is not idle
	Helped bool          // it has a helper
	Waits  bool          // it waits for a slot or an answer, or it is gone or leaving
	ByWire bool          // its agent is a program, which may think for long without an event
	Limit  time.Duration // limits.turn_timeout; 0: none
}

// Run checks the members until ctx ends. In each round it calls round, which returns
// the members, and act with each finding.
//
// Run it in its own goroutine, because the crew's loop may hang too. A member's next life
// keeps the state of the one before, so that consecutive alarms count across lives.
func (w *Watch) Run(ctx context.Context, c Clock, round func() []Watched, act func(member string, f events.WatchdogFound)) {
	watched := map[string]*memberWatch{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.After(WatchInterval):
		}
		for _, m := range round() {
			v := watched[m.Name]
			if v == nil {
				v = &memberWatch{}
				watched[m.Name] = v
			}
			p, ended := w.pulse(m)
			if ended != v.completed {
				v.completed, v.alarms = ended, 0
			}
			if f, ok := v.check(p, WatchInterval); ok && ctx.Err() == nil {
				act(m.Name, f)
			}
		}
	}
}

// pulse returns a member's current pulse, and how many of its turns have ended well.
func (w *Watch) pulse(m Watched) (p pulse, ended int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.of(m.Name)
	return pulse{
		Beats: a.beats, InTurn: m.InTurn, Turn: a.turn, Mail: w.due[m.Name], Busy: a.calls+a.hooking > 0 || m.Helped,
		Waits: m.Waits, Silent: a.heldUp || !m.ByWire, Limit: m.Limit,
	}, a.endedWell
}

// pulse is the state of one member in one round.
type pulse struct {
	Beats  uint64 // events so far; grows while the member does something
	InTurn bool
	Turn   int
	Busy   bool          // a tool call, a hook or a helper runs
	Waits  bool          // it waits for a slot or an answer, or it is gone or leaving
	Silent bool          // it sends nothing on its wire either, or has none
	Limit  time.Duration // limits.turn_timeout; 0: none
	Mail   string        // mark of its mail that is due; empty: none
}

// memberWatch is what the watchdog keeps of one member between rounds.
type memberWatch struct {
	beats     uint64
	quiet     time.Duration // time since its last beat in a turn
	mail      string
	kept      time.Duration // how long that mail has waited
	cut       int           // the interrupted turn; 0: none
	alarms    int           // interrupts since a turn that ended well
	completed int           // turns that had ended well by the last alarm
}

// check processes a round after time d, and returns a finding, if any.
//
// A round has at most one finding, the worst first, because each leads to an action. An
// interrupted turn that does not end is worse than mail that does not arrive, and both
// are worse than a silent turn.
//
// After a finding its time starts again, so that the next one comes only after the same
// time and not with every round. alarms counts consecutive interrupts: at the second one
// the member is given up instead of being interrupted a third time. Run resets alarms
// when a turn has ended well in between.
//
// It depends only on its arguments, so that tests need no time.
func (v *memberWatch) check(p pulse, d time.Duration) (f events.WatchdogFound, ok bool) {
	if !p.InTurn || p.Turn != v.cut {
		v.cut = 0
	}
	if p.Beats != v.beats || !p.InTurn || p.Waits {
		v.beats, v.quiet = p.Beats, 0
	} else {
		v.quiet += d
	}
	if p.Mail == "" || p.Mail != v.mail {
		v.mail, v.kept = p.Mail, 0
	} else {
		v.kept += d
	}
	switch {
	case v.cut != 0 && v.quiet >= endLimit:
		v.quiet = 0
		return events.WatchdogFound{Reason: "its turn does not end though it was interrupted", Did: LifeEnded}, true
	case v.kept >= mailLimit:
		v.kept = 0
		return events.WatchdogFound{Reason: fmt.Sprintf("it is idle and was not given its mail for %v", mailLimit), Did: LookedAgain}, true
	case v.cut != 0, v.quiet < p.limit():
		return events.WatchdogFound{}, false
	}
	f = events.WatchdogFound{Reason: fmt.Sprintf("nothing was heard of its turn for %v", v.quiet), Did: TurnInterrupted}
	if v.alarms++; v.alarms > 1 {
		f.Did, v.alarms = MemberGivenUp, 0
	}
	v.cut, v.quiet = p.Turn, 0
	return f, true
}

// limit is how long the member's turn may be silent.
//
// With a turn_timeout the turn ends by itself; the watchdog waits endLimit longer, for a
// member in which that failed. A build or test run may be silent for an hour, and so may
// an agent program whose wire shows that it is alive: both get callLimit.
func (p pulse) limit() time.Duration {
	switch {
	case p.Limit > 0: // the turn should have ended by itself
		return p.Limit + endLimit
	case p.Busy, !p.Silent:
		return callLimit
	}
	return quietLimit
}
