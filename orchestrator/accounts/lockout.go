package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
)

// How long a member waits if its agent does not say when the limit ends. Each failed try
// doubles the wait, so that a limit of a week costs a dozen tries a day.
const (
	firstRetry = 15 * time.Minute
	lastRetry  = 2 * time.Hour
	// soonRetry is the first wait after an announced time that was wrong.
	soonRetry = time.Minute
)

// Lockout is why a member takes no turns although its last turn was cut short: its
// agent's account is used up, nobody is logged in, or the turn failed. It is stored, so
// that a restarted covey waits on.
type Lockout struct {
	LoggedOut bool      `json:"logged_out,omitempty"`
	Failed    bool      `json:"failed,omitempty"`    // the turn failed and is tried again
	Until     time.Time `json:"until,omitzero"`      // time of the next try; zero: at once
	Known     bool      `json:"known,omitempty"`     // the agent announced Until; false: covey guesses
	Tries     int       `json:"tries"`               // consecutive tries by covey itself
	NoStarts  int       `json:"no_starts,omitempty"` // the last of them in which the program printed nothing
	Again     bool      `json:"again,omitempty"`     // it repeats the lockout before, so nobody is told
	Text      string    `json:"text"`                // what the agent said
	Answered  bool      `json:"-"`                   // the vendor has answered since
	GivenUp   bool      `json:"-"`                   // it failed too often to be tried again
	Fresh     bool      `json:"-"`                   // it failed in the turn that is ending
}

// State returns what the lockout means at a time. It compares wall-clock times, because
// the machine may have slept.
func (l *Lockout) State(now time.Time) plan.Lock {
	switch {
	case l == nil, l.GivenUp:
		return ""
	case l.LoggedOut:
		return plan.LockLogin
	case l.Failed && l.Until.Round(0).After(now.Round(0)):
		return plan.LockFailed
	case l.Until.Round(0).After(now.Round(0)):
		return plan.LockUsedUp
	}
	return plan.LockOver
}

// Holds reports whether the lockout keeps the member from turns.
func (l *Lockout) Holds(now time.Time) bool {
	state := l.State(now)
	return state != "" && state != plan.LockOver
}

// keyLockout returns the store key of a member's lockout; null: none.
func keyLockout(member string) string { return "lockout/" + member }

// retryAt returns when a member tries again after its agent was used up in tries
// consecutive turns. An announced time is believed once. If it was wrong or is in the
// past, the waits grow, so that covey does not retry constantly.
func retryAt(now, announced time.Time, tries int) time.Time {
	if tries <= 1 && announced.After(now) {
		return announced.Round(0)
	}
	wait := firstRetry
	if announced.After(now) || tries > 1 && !announced.IsZero() {
		wait = soonRetry
		tries--
	}
	for range min(tries, 20) - 1 {
		wait = min(2*wait, lastRetry)
	}
	at := now.Add(wait).Round(0)
	if announced.After(at) {
		return announced.Round(0)
	}
	return at
}

// loggedOut returns the event that an agent is not logged in, with what covey knows of its login.
func (l *Logins) loggedOut(a configs.Agent, hint string) events.LoggedOut {
	e := events.LoggedOut{Agent: members.AgentName(a), Hint: hint, Key: l.deps.Key(a)}
	if e.Key == "" {
		e.Fix = l.deps.Command(a.Preset)
	}
	return e
}

// LimitText reports that a member that has reached a usage limit waits or continues with
// another agent. again reports that the others know it already.
func (l *Logins) LimitText(m *members.Member, e events.Limited) (text string, waits, again bool) {
	lockout := l.Lockout(m.Name)
	if lockout == nil || lockout.Until.IsZero() {
		return fmt.Sprintf("Teammate %s has reached the usage limit of %s and goes on with another agent.",
			m.Name, e.Agent), false, lockout != nil && lockout.Again
	}
	return fmt.Sprintf("Teammate %s waits: %s.", m.Name, e.Summary(l.deps.Clock.Now())), true, lockout.Again
}

// Complete records the lockout that a member's turn ended with, and adds what the member does
// not know to the event. It comes before the journal, so that a crash cannot lose the lockout. It
// implements crew.Completer.
func (l *Logins) Complete(ctx context.Context, m *members.Member, all events.Event) (events.Event, error) {
	var out *Lockout
	var unkept error
	switch e := all.Data.(type) {
	case events.Limited:
		out = l.next(m.Name, e.Text)
		at := retryAt(l.deps.Clock.Now(), e.Until, out.Tries)
		out.Known = at.Equal(e.Until)
		out.Until, unkept = l.usedUpUntil(ctx, m, at)
		e.Agent, e.Known, e.Until = members.AgentName(m.CurrentAgent()), out.Known, at
		all.Data = e
	case events.LoggedOut:
		out = l.next(m.Name, e.Hint)
		out.LoggedOut = true
		all.Data = l.loggedOut(m.CurrentAgent(), e.Hint)
	case events.TurnFailed:
		out, all.Data = l.failedTurn(m, e)
	case events.NeedsAttention:
		if e.Kind == events.AttentionLogin {
			hint := ""
			if was := l.Lockout(m.Name); was != nil {
				hint = was.Text
			}
			e.Reason = l.loggedOut(m.CurrentAgent(), hint).Summary(fmt.Sprintf("`covey send %s \"go on\"`, or `covey up` "+
				"if the team has ended", m.Name)) // the journal keeps the text
		}
		all.Data = e
		return all, nil
	default:
		return all, nil
	}
	l.change(m.Name, func(m *member) { m.lockout = out })
	if out != nil && out.GivenUp {
		out = nil
	}
	return all, errors.Join(unkept, l.keep(ctx, m.Name, out))
}

// keep sets and stores a lockout; nil removes it. A later run needs it.
func (l *Logins) keep(ctx context.Context, name string, out *Lockout) error {
	return l.deps.Store.Put(context.WithoutCancel(ctx), keyLockout(name), texts.Encode(out))
}

// Saw ends the lockout of a member whose turn has ended for a reason that is not a lockout. It
// implements crew.Watcher.
func (l *Logins) Saw(ctx context.Context, m *members.Member, e events.Event) error {
	if _, ok := e.Data.(events.ToolCalled); ok && e.Helper == "" {
		l.answered(m.Name)
	}
	end, ok := e.Data.(events.TurnEnded)
	if !ok || end.Reason == events.EndUsageLimit || end.Reason == events.EndLoggedOut {
		return nil
	}
	over := false
	l.change(m.Name, func(m *member) {
		was := m.lockout
		switch {
		case was != nil && was.Fresh: // it belongs to this turn
			kept := *was
			kept.Fresh = false
			m.lockout = &kept
		case was != nil:
			m.lockout, over = nil, true
		}
	})
	if !over {
		return nil
	}
	return l.keep(ctx, m.Name, nil)
}

// next returns a lockout that follows the member's current one, if any.
func (l *Logins) next(name, text string) *Lockout {
	was := l.Lockout(name)
	if was == nil || was.Failed {
		return &Lockout{Tries: 1, Text: text}
	}
	return &Lockout{Tries: was.Tries + 1, Again: *was != Lockout{}, Text: text}
}

// Retry lets a locked-out member try again at once. It reports whether there was a
// lockout. A try that a person asked for does not count towards the wait.
func (l *Logins) Retry(name string) bool {
	now, held := l.deps.Clock.Now(), false
	l.change(name, func(m *member) {
		if held = m.lockout.Holds(now); !held {
			return
		}
		out := *m.lockout
		out.LoggedOut, out.Until = false, time.Time{}
		out.Tries = max(out.Tries-1, 0)
		m.lockout = &out
	})
	if held {
		l.tell(name, events.Waiting{Kind: events.ForLimit})
		l.deps.Changed()
	}
	return held
}
