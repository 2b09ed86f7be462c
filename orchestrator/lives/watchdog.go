package lives

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/orchestrator/routine"
)

// The watchdog finds members that neither work nor rest. It counts its own
// rounds and reads no clock: a machine that slept, a clock that was set and a
// covey that was stopped for a while look like one short round.

const (
	// WatchInterval is the time between two rounds.
	WatchInterval = 30 * time.Second
	// quietLimit is how long nothing may be heard of a turn whose agent thinks,
	// and callLimit of one whose tool call or hook runs, where the member has no
	// limits.turn_timeout. Tools and hooks have shorter limits of their own.
	quietLimit = 30 * time.Minute
	callLimit  = 2 * time.Hour
	// endLimit is how long a turn may take to end once it was interrupted.
	endLimit = 2 * time.Minute
	// mailLimit is how long an idle member may be kept from its mail.
	mailLimit = 2 * time.Minute
)

// Finding is what is wrong with a member, and what is done about it.
type Finding struct {
	Reason string `json:"reason"` // for people, behind the member's name
	Did    string `json:"did"`    // one of the constants below
}

// EventType is the journal's name for it.
func (Finding) EventType() string { return "watchdog" }

// What is done about a member.
const (
	TurnInterrupted = "interrupted"
	LifeEnded       = "ended"
	MemberGivenUp   = "given up"
	LookedAgain     = "looked again"
)

// Watched is what the watchdog is told of a member.
type Watched struct {
	Name   string
	InTurn bool          // it has begun its session, and has work
	Helped bool          // a helper works beside it
	Waits  bool          // it rightly waits: for a slot or an answer; or it is gone, or leaves
	ByWire bool          // its agent is a program, which may think for long without an event
	Limit  time.Duration // limits.turn_timeout; 0: none
}

// Guard watches over the members until ctx ends. In each round it calls round, which
// returns the members, and then act with what it finds.
//
// Run it in a goroutine of its own, because the crew's loop is one of the things that may
// hang. A member's next life keeps what is remembered of the one before, so that alarms in
// a row count over lives.
func (w *Watch) Guard(ctx context.Context, c routine.Clock, round func() []Watched, act func(member string, f Finding)) {
	watched := map[string]*vigil{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.After(WatchInterval):
		}
		for _, m := range round() {
			v := watched[m.Name]
			if v == nil {
				v = &vigil{}
				watched[m.Name] = v
			}
			p, ended := w.pulse(m)
			if ended != v.completed {
				v.completed, v.alarms = ended, 0
			}
			if f, ok := v.look(p, WatchInterval); ok && ctx.Err() == nil {
				act(m.Name, f)
			}
		}
	}
}

// pulse is how a member is now, and how many of its turns have ended well.
func (w *Watch) pulse(m Watched) (p pulse, ended int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.of(m.Name)
	return pulse{
		Beats: a.beats, InTurn: m.InTurn, Turn: a.Turn, Mail: w.owed[m.Name], Busy: a.calls+a.hooking > 0 || m.Helped,
		Waits: m.Waits, Silent: a.heldUp || !m.ByWire, Limit: m.Limit,
	}, a.endedWell
}

// pulse is what the watchdog has of one member.
type pulse struct {
	Beats  uint64 // events so far: it rises while the member does something
	InTurn bool
	Turn   int
	Busy   bool          // a tool call or a hook runs, or a helper works beside it
	Waits  bool          // it rightly waits: for a slot or an answer; or it is gone, or leaves
	Silent bool          // an agent program: it says nothing on its wire either
	Limit  time.Duration // limits.turn_timeout; 0: none
	Mail   string        // mail that it ought to have been given, as a mark; empty: none
}

// vigil is what the watchdog remembers of one member between rounds.
type vigil struct {
	beats     uint64
	quiet     time.Duration // since its last beat, while in a turn
	mail      string
	kept      time.Duration // how long it was kept from that mail
	cut       int           // the turn that was interrupted; 0: none
	alarms    int           // interrupted turns since one that ended well
	completed int           // turns that had ended well at the last alarm
}

// look takes in a round that came after time d, and says what is found.
//
// One finding at most comes out of a round, the worst first, because each has somebody
// do something about the member. A turn that was interrupted and does not end is worse
// than mail that does not come, and both are worse than a turn that is quiet.
//
// After each finding the count behind it begins again, so that the next one comes only
// after the same time once more and not with every round. alarms counts interrupts in a
// row: the second one says that a member falls into the same hole again, and it is given
// up then instead of being sent into it a third time. guard sets alarms back when a turn
// has ended well in between.
//
// It depends on nothing but its arguments, so the tests go through days in no time.
func (v *vigil) look(p pulse, d time.Duration) (f Finding, ok bool) {
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
		return Finding{"its turn does not end though it was interrupted", LifeEnded}, true
	case v.kept >= mailLimit:
		v.kept = 0
		return Finding{fmt.Sprintf("it is idle and was not given its mail for %v", mailLimit), LookedAgain}, true
	case v.cut != 0, v.quiet < p.limit():
		return Finding{}, false
	}
	f = Finding{fmt.Sprintf("nothing was heard of its turn for %v", v.quiet), TurnInterrupted}
	if v.alarms++; v.alarms > 1 {
		f.Did, v.alarms = MemberGivenUp, 0
	}
	v.cut, v.quiet = p.Turn, 0
	return f, true
}

// limit is how long nothing may be heard of the member's turn.
//
// Who gave a turn_timeout wants turns to end then, and the member sees to that; the
// watchdog comes endLimit later, for a member in which that has failed. A build or a test
// run that is silent for an hour is no fault, and neither is an agent program that thinks
// and is seen to be alive on its wire: both get callLimit.
func (p pulse) limit() time.Duration {
	switch {
	case p.Limit > 0: // the turn ends by itself then; this is for one that does not
		return p.Limit + endLimit
	case p.Busy, !p.Silent:
		return callLimit
	}
	return quietLimit
}
