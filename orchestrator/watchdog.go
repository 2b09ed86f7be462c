package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/gang"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// The watchdog finds members that neither work nor rest. It counts its own
// rounds and reads no clock: a machine that slept, a clock that was set and a
// covey that was stopped for a while look like one short round.

const (
	// watchEvery is the time between two rounds.
	watchEvery = 30 * time.Second
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

// Watchdog is sent when a member was found that neither works nor rests.
type Watchdog struct {
	Reason string `json:"reason"` // for people, behind the member's name
	Did    string `json:"did"`    // interrupted, ended, given up or looked again
}

// EventType is the journal's name for it.
func (Watchdog) EventType() string { return "watchdog" }

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

// finding is what is wrong with a member, and what is done about it.
type finding Watchdog

// What the watchdog does.
const (
	didInterrupt = "interrupted"
	didEnd       = "ended"
	didGiveUp    = "given up"
	didLook      = "looked again"
)

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
func (v *vigil) look(p pulse, d time.Duration) (f finding, ok bool) {
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
		return finding{"its turn does not end though it was interrupted", didEnd}, true
	case v.kept >= mailLimit:
		v.kept = 0
		return finding{fmt.Sprintf("it is idle and was not given its mail for %v", mailLimit), didLook}, true
	case v.cut != 0, v.quiet < p.limit():
		return finding{}, false
	}
	f = finding{fmt.Sprintf("nothing was heard of its turn for %v", v.quiet), didInterrupt}
	if v.alarms++; v.alarms > 1 {
		f.Did, v.alarms = didGiveUp, 0
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

// watchOver starts the watchdog. stop ends it and waits for it: it must not
// begin anything once nobody waits for what it begins.
//
// The crew calls it when its members begin, and stop before it waits for them: an
// interrupt or a notice that is sent after that would reach a store that is closed.
func (c *crew) watchOver(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.guard(ctx)
	}()
	return func() {
		cancel()
		<-over
	}
}

// guard watches over the members until ctx ends.
//
// It runs in a goroutine of its own, because the crew's loop is one of the things that
// may hang. vigils are its own and need no lock; a seat that is taken by another life of
// the same member keeps the vigil, so that alarms in a row count over lives.
func (c *crew) guard(ctx context.Context) {
	watched := map[string]*vigil{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.clock.After(watchEvery):
		}
		gang.Signal(c.poked) // makes up for a poke that was lost
		for _, s := range c.seats() {
			v := watched[s.member.Name]
			if v == nil {
				v = &vigil{}
				watched[s.member.Name] = v
			}
			p, ended := s.pulse()
			if ended != v.completed {
				v.completed, v.alarms = ended, 0
			}
			if f, ok := v.look(p, watchEvery); ok && ctx.Err() == nil {
				c.act(ctx, s, c.rouse(ctx, s, f))
			}
		}
	}
}

// pulse is how the member is now, and how many of its turns have ended well.
//
// Helpers and open requests are asked before crew.mu is taken: they have locks of their
// own, and no two are held at once here, so that no order of locks has to be kept.
func (s *seat) pulse() (p pulse, ended int) {
	helped := s.mate != nil && s.mate.Helpers() > 0
	awaits := s.crew.asks.Awaits(s.member.Name) != ""
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	w := s.watch
	return pulse{
		Beats: w.beats, InTurn: s.sessionBegun &&
			!s.idle, Turn: w.turn, Mail: s.crew.owed[s.member.Name], Busy: w.calls+w.hooking > 0 || helped,
		Waits:  s.crew.logins.State(s.member.Name).Waits != "" || awaits || s.gone != "" || s.leaving != "",
		Silent: w.heldUp || !speaksByWire(*s.member.Member), Limit: s.member.Limits.TurnTimeout,
	}, w.endedWell
}

// speaksByWire reports whether a member's agent is a program, which may think
// for long with nothing in it that is an event.
func speaksByWire(m configs.Member) bool {
	return m.Agent.Kind == configs.ACP || m.Agent.Kind == configs.Command
}

// owing notes the mail that members are about to be given, and once more when
// they have it: what stands there for long was not given.
//
// The loop calls it with the scene and the moves that it is about to make. A mark that
// is the same round after round means that the move was made and came to nothing. Only
// the first unread message counts as the mark: more mail must not set the clock back.
func (c *crew) owing(s plan.Scene, moves []plan.Move) {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed = owed
}

// rouse does what a finding asks for, and tells of it.
//
// The event comes before the deed, so that the journal has the reason even if covey
// dies over it. What the member is to go on with is stored before the interrupt: a crash
// between the two leaves a notice too many, never a member that has lost its work.
func (c *crew) rouse(ctx context.Context, s *seat, f finding) error {
	c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: Watchdog(f)})
	switch f.Did {
	case didLook:
		return nil // guard has poked the crew
	case didEnd:
		c.dismissMember(ctx, s, f.Reason, 0)
		return nil // its leaving is told
	case didGiveUp:
		s.mate.Interrupt("covey's watchdog: " + f.Reason)
		return c.giveUpOn(ctx, s, "twice in a row "+f.Reason)
	}
	if err := c.onceMore(ctx, s, f.Reason); err != nil {
		return err
	}
	s.mate.Interrupt("covey's watchdog: " + f.Reason)
	return c.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s was interrupted and begins again: %s",
		s.member.Name, f.Reason))
}

// onceMore has a member go on with the turn that is about to be cut off. It is
// mail, so that it survives a crash.
func (c *crew) onceMore(ctx context.Context, s *seat, reason string) error {
	text := "covey has ended your last turn, because " + reason + ". Go on with what it was about; if something in it " +
		"does not come to an end, do without."
	_, err := c.store.Mail().Send(ctx, actors.Actor{}, mail.Outgoing{
		To: []string{s.member.Name}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
	})
	return err
}

// beat counts what a member does. crew.mu is held.
//
// Warnings and notifications are no sign of life: covey itself writes them, some about
// the very member that hangs. Counts of calls and hooks never fall below zero, because each
// turn begins at zero, and the end of a call from before it may still come in.
func (w *watch) beat(e agent.EventData) {
	switch data := e.(type) {
	case agent.Warning, agent.Notified:
		return
	case agent.HeldUp:
		w.heldUp = true
		return
	case agent.TurnStarted:
		w.calls, w.hooking = 0, 0
	case agent.ToolCalled:
		w.calls++
	case agent.ToolReturned:
		w.calls = max(w.calls-1, 0)
	case agent.HookStarted:
		w.hooking++
	case agent.HookFinished:
		w.hooking = max(w.hooking-1, 0)
	case agent.TurnEnded:
		w.calls, w.hooking = 0, 0
		if data.Reason == agent.EndCompleted {
			w.endedWell++
		}
	}
	w.beats, w.heldUp = w.beats+1, false
}
