// Package login knows the logins that the agents of a team work on: who is locked out of
// one and until when, how many turns may go on at once, and which agent a member falls
// back to. It is covey's own and makes no promise to other programs.
//
// A login is what several members may share: an account of a vendor, or a key. When a
// program says that a usage limit is reached, the member is locked out until the time that
// the program named, or tries again after a pause. A lockout is stored, so that a team that
// is restarted does not ask the vendor again too early.
package login

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// Ports are what Logins needs of its team.
type Ports struct {
	Store     *tasks.Store
	Journal   Journal
	Clock     routine.Clock
	Changed   func()                                   // is called when a member can go on that could not
	OnLimit   func() configs.OnLimit                   // what a vendor's limit means for the team
	Fallbacks func(configs.Agent) []configs.Agent      // an agent, and those that it may be followed by
	Command   func(preset configs.Preset) (run string) // logs the user in; empty: not known
}

// Journal is told what members wait for, and of their agents.
type Journal interface{ Append(e agent.Event) }

// Logins are those of one team. Its methods may be called from any goroutine. It calls
// its ports without holding its lock; Allot alone asks OnLimit and Fallbacks under that of
// the slots.
type Logins struct {
	ports Ports
	slots slots

	mu      sync.Mutex
	members map[string]*member // who is here stays
	places  roster.Places[*member]
	waits   string // the wait for usage limits that was last told of
}

// member is what is known of a member.
type member struct {
	state State
	used  map[string]time.Time // until when which of its agents are used up; not changed once it stands here
	slot  func()               // gives back its place among those on one login; nil: it has none

	agent *configs.Agent // that it used at the last FillSeats
	login string         // of that agent
}

// State is what keeps a member from its turns.
type State struct {
	Lockout *Lockout  // nil: none; not changed once it stands here
	Lent    time.Time // until when it waits though it is not locked out: its login is used up
	Waits   string    // what it waits for before a turn that it has work for; empty: nothing
}

// New has the logins of a team whose members have not been hired yet.
func New(ports Ports) *Logins { return &Logins{ports: ports, members: map[string]*member{}} }

// of is what is known of a member. l.mu is held.
func (l *Logins) of(name string) *member {
	m := l.members[name]
	if m == nil {
		m = &member{}
		l.members[name] = m
	}
	return m
}

// State is that of a member.
func (l *Logins) State(name string) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.members[name]; m != nil {
		return m.state
	}
	return State{}
}

// change changes what is known of a member.
func (l *Logins) change(name string, do func(*member)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(l.of(name))
}

// Forget drops what is known of a member that has left its seat. Its lockout stays if
// it goes on with the same agent.
func (l *Logins) Forget(name string, sameAgent bool) {
	l.GiveBack(name)
	l.change(name, func(m *member) {
		was := m.state.Lockout
		if *m = (member{}); sameAgent {
			m.state.Lockout = was
		}
	})
}

// Recall reads which members were locked out when the last run ended, and which of their
// agents were used up. A member that was logged out tries again: a person has started
// covey since.
func (l *Logins) Recall(ctx context.Context, name string) error {
	var lockout *Lockout
	if err := tasks.ReadValue(ctx, l.ports.Store, keyLockout(name), &lockout); err != nil {
		return fmt.Errorf("whether %s is locked out: %w", name, err)
	}
	var used map[string]time.Time
	if err := tasks.ReadValue(ctx, l.ports.Store, keyFallback(name), &used); err != nil {
		return fmt.Errorf("which agents of %s are used up: %w", name, err)
	}
	if lockout != nil && lockout.LoggedOut {
		lockout.LoggedOut, lockout.Until = false, time.Time{}
	}
	l.change(name, func(m *member) { m.state.Lockout, m.used = lockout, used })
	return nil
}

// Of names the account that an agent works on. Agents with the same login share its
// slots, and the news of its limits. An agent program that is given variables of its own
// may well have another login than one without, so these count.
func Of(a *configs.Agent) string {
	if a.Kind != configs.ACP && a.Kind != configs.Command || a.Model.Script != "" {
		return a.Name
	}
	program := roster.ProgramName(*a)
	if a.Auth == configs.Key {
		if key := cmp.Or(a.KeyFile, a.KeyVar); key != "" {
			return "key " + key
		}
		return "key of " + program
	}
	if a.Preset == "" {
		return a.Name // nobody knows what login such a program has
	}
	var env strings.Builder
	for _, v := range a.Env {
		env.WriteString(" " + v.Name + "=" + v.Text)
	}
	return "login of " + program + env.String()
}

// loginOf is Of for the agent that the member uses. It is asked again and again for the
// same agent.
func (m *member) loginOf(a *configs.Agent) string {
	if m.agent != a {
		m.agent, m.login = a, Of(a)
	}
	return m.login
}

// FillSeats fills in what their logins mean for members: Agent, Lock, Until, LockText and
// Borrowed of their seats. who gives the member that has a seat. Look passes the news of each
// login on to the members that share it: while one of them is locked out, or tries whether
// it still is, the others wait with it.
func (l *Logins) FillSeats(seats []plan.Seat, who func(i int) *roster.Member) {
	now := l.ports.Clock.Now()
	told := l.ports.OnLimit() == configs.StopAtLimit
	l.mu.Lock()
	defer l.mu.Unlock()
	known := map[string]*plan.Seat{}
	for i := range seats {
		v := &seats[i]
		is, m := who(i), l.places.At(i, v.Name, l.of)
		lockout := m.state.Lockout
		v.Agent, v.Lock = m.loginOf(is.AgentInUse()), lockout.State(now)
		if v.Lock == plan.LockUsedUp || v.Lock == plan.LockFailed {
			v.Until = lockout.Until
		}
		if v.Lock == plan.LockUsedUp && told {
			v.LockText = limitText(is.CurrentAgent(), *lockout, now)
		}
		if lockout == nil || lockout.Answered || lockout.Failed {
			continue
		}
		// A member that takes no turn itself can try nothing for others.
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
		m.state.Lent = time.Time{}
		from := known[v.Agent]
		if from == nil || v.Agent == "" || m.state.Lockout != nil {
			continue
		}
		v.Lock, v.Until, v.Borrowed = from.Lock, from.Until, true
		if v.Lock == plan.LockOver {
			v.Lock = plan.LockTried
		}
		if v.Idle && v.Lock == plan.LockUsedUp {
			m.state.Lent = v.Until
		}
	}
}

// Answered notes that the vendor behind a member that was locked out has answered: the
// others on its login need not wait for the end of its turn.
func (l *Logins) Answered(name string) {
	news := false
	l.change(name, func(m *member) {
		if news = m.state.Lockout != nil && !m.state.Lockout.Answered; !news {
			return
		}
		heard := *m.state.Lockout
		heard.Answered = true
		m.state.Lockout = &heard
	})
	if news {
		l.ports.Changed()
	}
}

// TellOfWait tells the journal, once for each mark, that the team does nothing but wait
// for usage limits to be over.
func (l *Logins) TellOfWait(mark string, w journal.TeamWaits) {
	l.mu.Lock()
	told := l.waits == mark
	l.waits = mark
	l.mu.Unlock()
	if !told {
		l.ports.Journal.Append(agent.Event{Data: w})
	}
}

// EndWait notes that a member has been given work: the next wait is told of anew.
func (l *Logins) EndWait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = ""
}
