package accounts

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
)

// LoginDeps are the dependencies of Logins.
type LoginDeps struct {
	Store     *tasks.Store
	Journal   Journal
	Clock     members.Clock
	Members   Members
	Changed   func()                                   // called when a member may continue
	OnLimit   func() configs.OnLimit                   // what the team does at a vendor's limit
	Fallbacks func(configs.Agent) []configs.Agent      // an agent and its fallbacks
	Command   func(preset configs.Preset) (run string) // the command that logs the user in; empty: not known
	Key       func(a configs.Agent) (name string)      // what the agent uses in place of a login; empty: it logs in
}

// Journal receives events.
type Journal interface{ Append(e events.Event) }

// Members are the members of the team. The seats of the crew implement it.
type Members interface {
	// Member finds a member in its current life.
	Member(name string) (*members.Member, bool)
	Members() []*members.Member
	Turn(member string) int
}

// Logins are the logins of one team. Any goroutine may call its methods. It calls its
// dependencies without holding its lock, except that Allot calls OnLimit and Fallbacks with the
// lock of the slots held.
type Logins struct {
	deps  LoginDeps
	slots slots

	mu      sync.Mutex
	members map[string]*member // never removed
	places  members.Places[*member]
	waits   string // the last reported wait for usage limits
}

// member is the state of one member.
type member struct {
	lockout *Lockout             // what keeps it from its turns; nil: nothing; replaced, never changed
	lent    time.Time            // until when it waits because another member's lockout applies
	used    map[string]time.Time // its used-up agents, and until when; replaced, never changed
	slot    func()               // releases its slot; nil: it has none

	agent *configs.Agent // its agent at the last Describe
	login string         // the login of agent
}

// NewLogins returns the logins of a team without members.
func NewLogins(deps LoginDeps) *Logins { return &Logins{deps: deps, members: map[string]*member{}} }

// of returns the state of a member. l.mu must be held.
func (l *Logins) of(name string) *member {
	m := l.members[name]
	if m == nil {
		m = &member{}
		l.members[name] = m
	}
	return m
}

// Lockout returns what keeps a member from its turns; nil: nothing.
func (l *Logins) Lockout(name string) *Lockout {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.members[name]; m != nil {
		return m.lockout
	}
	return nil
}

// tell journals an event of a member, or of the team.
func (l *Logins) tell(member string, e events.Data) {
	l.deps.Journal.Append(events.Event{Member: member, Turn: l.deps.Members.Turn(member), Data: e})
}

// change edits the state of a member.
func (l *Logins) change(name string, do func(*member)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(l.of(name))
}

// Rejoined drops the state of the member's last life. The lockout stays if the member continues
// with the same agent, and all of it if that continues its work in a new session. It implements
// crew.Rejoiner.
func (l *Logins) Rejoined(ctx context.Context, m *members.Member, r members.Return) error {
	if r.Rotated && r.SameAgent {
		return nil
	}
	l.forget(m.Name, r.SameAgent)
	return nil
}

// Left drops the state of a member that has left the team. It implements crew.Leaver.
func (l *Logins) Left(_ context.Context, name string) error {
	l.forget(name, false)
	return nil
}

// forget drops the state of a member, but not its lockout if that is kept.
func (l *Logins) forget(name string, keep bool) {
	l.GiveBack(name)
	over := false
	l.change(name, func(m *member) {
		kept := member{lockout: m.lockout}
		if over = !keep && m.lockout != nil || !m.lent.IsZero(); !keep {
			kept.lockout = nil
		}
		*m = kept
	})
	if over {
		l.tell(name, events.Waiting{Kind: events.ForLimit})
	}
}

// Begin reads which members were locked out when the last run ended, so that an interrupted turn
// continues with the same agent, and allots the slots. It implements crew.Starter.
func (l *Logins) Begin(ctx context.Context) error {
	var specs []configs.Member
	for _, m := range l.deps.Members.Members() {
		if err := l.recall(ctx, m.Name); err != nil {
			return err
		}
		specs = append(specs, *m.Member)
	}
	l.Allot(specs)
	return nil
}

// recall reads the lockout and the used-up agents of a member from the last run. A member
// that was logged out tries again, because a person has started covey since.
func (l *Logins) recall(ctx context.Context, name string) error {
	var lockout *Lockout
	if err := tasks.ReadValue(ctx, l.deps.Store, keyLockout(name), &lockout); err != nil {
		return fmt.Errorf("whether %s is locked out: %w", name, err)
	}
	var used map[string]time.Time
	if err := tasks.ReadValue(ctx, l.deps.Store, keyFallback(name), &used); err != nil {
		return fmt.Errorf("which agents of %s are used up: %w", name, err)
	}
	if lockout != nil && lockout.LoggedOut {
		lockout.LoggedOut, lockout.Until = false, time.Time{}
	}
	l.change(name, func(m *member) { m.lockout, m.used = lockout, used })
	switch now := l.deps.Clock.Now(); lockout.State(now) {
	case plan.LockFailed:
		l.tell(name, events.Waiting{Kind: events.ForRetry, For: lockout.retryText(), Until: lockout.Until})
	case plan.LockUsedUp:
		l.tell(name, events.Waiting{Kind: events.ForLimit, For: "its usage limit to end", Until: lockout.Until})
	}
	return nil
}

// LoginOf returns a name for the account that an agent works on. Agents with the same login
// share its slots and its limits. An agent with its own environment variables may have
// another login than one without, so they are part of the name.
func LoginOf(a *configs.Agent) string {
	if a.Kind != configs.ACP && a.Kind != configs.Command || a.Model.Script != "" {
		return a.Name
	}
	program := members.ProgramName(*a)
	if a.Auth == configs.Key {
		if key := cmp.Or(a.KeyFile, a.KeyVar); key != "" {
			return "key " + key
		}
		return "key of " + program
	}
	if a.Preset == "" {
		return a.Name // the login of such a program is unknown
	}
	var env strings.Builder
	for _, v := range a.Env {
		env.WriteString(" " + v.Name + "=" + v.Text)
	}
	return "login of " + program + env.String()
}

// loginOf returns LoginOf for the member's agent. It caches the result, because it is called
// often.
func (m *member) loginOf(a *configs.Agent) string {
	if m.agent != a {
		m.agent, m.login = a, LoginOf(a)
	}
	return m.login
}

// Describe sets which members are locked out, and how many more turns may begin. A lockout applies
// to all members on its login: while one is locked out, or tries whether it still is, the others
// wait with it. It implements crew.Describer.
func (l *Logins) Describe(s *plan.Scene, all []*members.Member) {
	s.Free = l.Free()
	now, seats := l.deps.Clock.Now(), s.Seats
	var news []func()
	defer func() {
		for _, tell := range news { // without the lock
			tell()
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	known := map[string]*plan.Seat{}
	for i := range seats {
		v := &seats[i]
		is, m := all[i], l.places.At(i, v.Name, l.of)
		lockout := m.lockout
		v.Agent, v.Lock = m.loginOf(is.AgentInUse()), lockout.State(now)
		if v.Lock == plan.LockUsedUp || v.Lock == plan.LockFailed {
			v.Until = lockout.Until
			if !v.Gone {
				// Round(0) drops the monotonic reading: a time that was stored has none, and the wall
				// clock is what a vendor means.
				s.ChangesIn(max(v.Until.Round(0).Sub(now.Round(0)), 0))
			}
		}
		if v.Lock == plan.LockUsedUp && s.AtLimit {
			limit := events.Limited{Agent: members.AgentName(is.CurrentAgent()), Until: lockout.Until, Known: lockout.Known}
			v.LockText = limit.Summary(now)
		}
		if lockout == nil || lockout.Answered || lockout.Failed {
			continue
		}
		// A member that takes no turns cannot try for others.
		if v.Lock == plan.LockOver && (v.Gone || v.Spent != "") {
			continue
		}
		if had := known[v.Agent]; had == nil || had.Lock == "" || had.Until.Before(v.Until) {
			known[v.Agent] = v
		}
	}
	for i := range seats {
		v := &seats[i]
		m := l.places.At(i, v.Name, l.of)
		from, lent := known[v.Agent], events.Waiting{Kind: events.ForLimit}
		if from != nil && v.Agent != "" && m.lockout == nil {
			v.Lock, v.Until, v.Borrowed = from.Lock, from.Until, true
			if v.Lock == plan.LockOver {
				v.Lock = plan.LockTried
			}
			if v.Idle && v.Lock == plan.LockUsedUp {
				lent.For, lent.Until = "the usage limit that "+from.Name+" has met", v.Until
			}
		}
		if !lent.Until.Equal(m.lent) {
			m.lent = lent.Until
			news = append(news, func() { l.tell(v.Name, lent) })
		}
	}
}

// answered records that the vendor has answered a member that was locked out: the others
// on its login need not wait for the end of its turn.
func (l *Logins) answered(name string) {
	news := false
	l.change(name, func(m *member) {
		if news = m.lockout != nil && !m.lockout.Answered; !news {
			return
		}
		heard := *m.lockout
		heard.Answered = true
		m.lockout = &heard
	})
	if news {
		l.deps.Changed()
	}
}

// TellOfWait journals, once per mark, that the team only waits for usage limits.
func (l *Logins) TellOfWait(mark string, w events.TeamWaits) {
	l.mu.Lock()
	told := l.waits == mark
	l.waits = mark
	l.mu.Unlock()
	if !told {
		l.tell("", w)
	}
}

// Assigned makes the next wait be reported again. It implements crew.Assigner.
func (l *Logins) Assigned(*members.Member, teammate.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = ""
}
