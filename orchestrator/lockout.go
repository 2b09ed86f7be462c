package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// How long a member waits whose agent does not say when its limit is over. Each
// try in vain doubles the time, so that a limit of a week costs a dozen tries
// a day.
const (
	firstRetry = 15 * time.Minute
	lastRetry  = 2 * time.Hour
	// soonRetry is the first wait after an announced time that did not hold.
	soonRetry = time.Minute
)

// lockout is why a member takes no turns for now, though it was cut short in
// one: its agent's account is used up, nobody is logged in, or the turn failed. It is
// stored, so that covey waits on when it is started again.
type lockout struct {
	LoggedOut bool      `json:"logged_out,omitempty"`
	Failed    bool      `json:"failed,omitempty"` // the turn failed, and is tried again
	Until     time.Time `json:"until,omitzero"`   // when it tries again; zero: at once
	Known     bool      `json:"known,omitempty"`  // the agent said so; false: covey guesses
	Tries     int       `json:"tries"`            // tries in a row that covey made by itself
	Again     bool      `json:"again,omitempty"`  // the lockout before it was no different: everybody knows
	Text      string    `json:"text"`             // what the agent said
	Heard     bool      `json:"-"`                // since then its vendor has answered
	GivenUp   bool      `json:"-"`                // Failed too often to be tried again
	Fresh     bool      `json:"-"`                // Failed in the turn that is just ending
}

// state is what the lockout means at a time. The times are compared by the wall
// clock alone: a machine may have slept in between.
func (l *lockout) state(now time.Time) plan.Lock {
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

// holds reports whether the lockout keeps the member from its turns.
func (l *lockout) holds(now time.Time) bool {
	state := l.state(now)
	return state != "" && state != plan.LockOver
}

// keyLockout is where the store has a member's lockout; null: none.
func keyLockout(member string) string { return "lockout/" + member }

// retryAt is when a member tries again whose agent was used up tries times in a
// row. What the agent has announced is believed once; when it did not hold, or
// lies in the past, waiting longer each time keeps covey from knocking for ever.
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

// loginText says what a person has to do, then being what follows the login.
func loginText(m configs.Member, hint, then string) string {
	if run := launch.LoginCommand(m.Agent.Preset); run != "" {
		return fmt.Sprintf("%s is not logged in; run `%s`, then `%s`", roster.AgentName(m.Agent), run, then)
	}
	return fmt.Sprintf("%s is not logged in (%s); log in with its program, then `%s`", roster.AgentName(m.Agent),
		wording.OneLine(hint), then)
}

// limitText says that a member waits, and until when.
func limitText(m configs.Member, l lockout, now time.Time) string {
	then := "tries again"
	if l.Known {
		then = "goes on"
	}
	return fmt.Sprintf("usage limit of %s reached; it %s at %s", roster.AgentName(m.Agent), then,
		wording.ShortTime(l.Until.Local(), now))
}

// lockedEnding is how a run ended for a member that was locked out then.
// crew.mu is held.
func (s *seat) lockedEnding(now time.Time) (MemberState, string) {
	if s.lockout.Failed {
		return Waiting, "its last turn failed and was to be tried again: " + wording.OneLine(s.lockout.Text)
	}
	if s.lockout.LoggedOut {
		return LoggedOut, loginText(s.member.Current(), s.lockout.Text, "covey up")
	}
	return Limited, limitText(s.member.Current(), *s.lockout, now)
}

// recallLockouts reads which members were locked out when the last run ended.
// Who was logged out tries again: a person has started covey since.
func (c *crew) recallLockouts(ctx context.Context) error {
	for _, s := range c.seats() {
		var l *lockout
		if err := tasks.ReadValue(ctx, c.store, keyLockout(s.member.Name), &l); err != nil {
			return fmt.Errorf("whether %s is locked out: %w", s.member.Name, err)
		}
		if err := c.recallFallback(ctx, s); err != nil {
			return err
		}
		if l != nil && l.LoggedOut {
			l.LoggedOut, l.Until = false, time.Time{}
		}
		c.mu.Lock() // people may ask already how the team is
		s.lockout = l
		c.mu.Unlock()
	}
	return nil
}

// lock notes a lockout that a member's turn came to, and fills in what only the
// crew knows of it. Other events are returned as they are. It is called before
// anybody is told, so that a crash cannot lose it.
func (c *crew) lock(ctx context.Context, s *seat, d agent.EventData) agent.EventData {
	var l lockout
	switch e := d.(type) {
	case agent.Limited:
		now := c.clock.Now()
		l = s.nextLockout(e.Text)
		l.Until = retryAt(now, e.Until, l.Tries)
		l.Known = l.Until.Equal(e.Until)
		at := l.Until
		l.Until = c.usedUpUntil(ctx, s, at)
		e.Agent, e.Known, e.Until = roster.AgentName(s.member.CurrentAgent()), l.Known, at
		d = e
	case agent.LoggedOut:
		l = s.nextLockout(e.Hint)
		l.LoggedOut = true
		e.Agent, e.Fix = roster.AgentName(s.member.CurrentAgent()), launch.LoginCommand(s.member.CurrentAgent().Preset)
		d = e
	case agent.TurnFailed:
		return c.noteFailure(ctx, s, e)
	case agent.NeedsAttention:
		if e.Kind == "login" {
			e.Reason = loginText(s.member.Current(), s.locked().Text, fmt.Sprintf("covey send %s \"go on\"", s.member.Name))
		}
		return e
	default:
		return d
	}
	c.mu.Lock()
	s.lockout = &l
	c.mu.Unlock()
	// A team that is being stopped has to know of it when it is started again.
	c.act(ctx, s, c.store.Put(context.WithoutCancel(ctx), keyLockout(s.member.Name), rawjson.Encode(l)))
	return d
}

// unlock notes that a member's turn came to something else than a lockout.
func (c *crew) unlock(ctx context.Context, s *seat, reason string) {
	if reason == agent.EndUsageLimit || reason == agent.EndLoggedOut {
		return
	}
	c.mu.Lock()
	was := s.lockout
	if was != nil && was.Fresh { // it is about this very turn
		l := *was
		l.Fresh = false
		s.lockout, was = &l, nil
	} else {
		s.lockout = nil
	}
	c.mu.Unlock()
	if was != nil {
		c.act(ctx, s, c.store.Put(context.WithoutCancel(ctx), keyLockout(s.member.Name), rawjson.Encode(nil)))
	}
}

// locked is the member's lockout; zero: none.
func (s *seat) locked() lockout {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	if s.lockout == nil {
		return lockout{}
	}
	return *s.lockout
}

// nextLockout is a lockout that follows the one that the member may have.
func (s *seat) nextLockout(text string) lockout {
	was := s.locked()
	if was.Failed {
		was = lockout{}
	}
	return lockout{Tries: was.Tries + 1, Again: was != lockout{}, Text: text}
}

// tellOfLimit tells the lead of a member's usage limit, once for all the tries
// that come to the same.
func (c *crew) tellOfLimit(ctx context.Context, s *seat, e agent.Limited) error {
	if s.locked().Again {
		return nil
	}
	owned, err := c.store.Owned(ctx, s.member.Name)
	if err != nil {
		return fmt.Errorf("the tasks of %s: %w", s.member.Name, err)
	}
	text := fmt.Sprintf("Teammate %s waits: %s.", s.member.Name,
		limitText(s.member.Current(), lockout{Until: e.Until, Known: e.Known}, c.clock.Now()))
	if l := s.locked(); l.Until.IsZero() {
		text = fmt.Sprintf("Teammate %s has reached the usage limit of %s and goes on with another agent.",
			s.member.Name, e.Agent)
		owned = nil
	}
	open := slices.DeleteFunc(owned, func(t tasks.Task) bool { return t.Status == tasks.Completed })
	if len(open) > 0 {
		text += " It keeps " + tasks.NamesOf(open) + " and goes on with what it was asked; reassign what cannot wait."
	}
	return c.tellLeadOf(ctx, s, text)
}

// handOn lets a member go on that was locked out. What it was asked it has kept
// itself; mail that came in meanwhile goes along.
func (c *crew) handOn(ctx context.Context, s *seat) error {
	mail, _, err := c.unread(ctx, s.member.Name)
	if err != nil {
		return fmt.Errorf("the mail of %s: %w", s.member.Name, err)
	}
	in, err := s.read(ctx, mail)
	if err != nil {
		return fmt.Errorf("the mail of %s: %w", s.member.Name, err)
	}
	// A try that a person asked for says nothing about how long to wait.
	c.tryNow(s)
	goOn := agent.Input{Kind: agent.FromCovey, Text: teammate.GoOn}
	if s.locked().Failed {
		goOn.Text = teammate.TryAgain
	}
	return c.hand(s, teammate.Work{Cause: agent.ByResume, Inputs: append([]agent.Input{goOn}, in...)}, "")
}

// tryNow lets an idle member that is locked out try again at once. It reports
// whether there is such a lockout.
func (c *crew) tryNow(s *seat) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.idle || s.gone != "" || !s.lockout.holds(c.clock.Now()) {
		return false
	}
	l := *s.lockout
	l.LoggedOut, l.Until = false, time.Time{}
	l.Tries = max(l.Tries-1, 0)
	s.lockout = &l
	c.poke()
	return true
}

// waitFor tells the journal, once for each time, that the team does nothing but
// wait for a usage limit to be over.
func (c *crew) waitFor(m plan.Move) {
	c.mu.Lock()
	told := c.slots.waiting == m.Mark
	c.slots.waiting = m.Mark
	c.mu.Unlock()
	if !told {
		c.journal.Tell(journal.TeamWaits{Until: m.Until, Members: m.Names})
	}
}

// maxSleep is how long the crew looks at no clock: timers stand still while a
// machine sleeps, and clocks are set.
const maxSleep = time.Minute

// nextRetry fires when the next of a scene's members may try again, or a little
// sooner; nil if none waits for a time. The time may have come since the scene
// was taken: then it fires at once.
func (c *crew) nextRetry(seats []plan.Seat) <-chan time.Time {
	var next time.Time
	for _, s := range seats {
		if !s.Gone && !s.Held && (s.Lock == plan.LockUsedUp || s.Lock == plan.LockFailed) && (next.IsZero() ||
			s.Until.Before(next)) {
			next = s.Until
		}
	}
	if next.IsZero() {
		return nil
	}
	return c.clock.After(min(max(next.Round(0).Sub(c.clock.Now().Round(0)), 0), maxSleep))
}
