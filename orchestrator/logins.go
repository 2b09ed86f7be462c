package orchestrator

import (
	"cmp"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/roster"
)

// loginOf tells on whose account an agent works. Agents with the same login share
// its slots, and the news of its limits. An agent program that is given variables
// of its own may well have another login than one without, so these count.
func loginOf(a configs.Agent) string {
	if a.Kind != configs.ACP && a.Kind != configs.Command || a.Model.Script != "" {
		return a.Name
	}
	program := roster.ProgramName(a)
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

// lend passes the news of each login on to the members that share it: while one of
// them is locked out, or tries whether it still is, the others wait with it.
// crew.mu is held.
func (c *crew) lend(views []plan.Seat) {
	type news struct {
		lock  plan.Lock
		until time.Time
	}
	known := map[string]news{}
	for i, s := range c.seats() {
		if i >= len(views) || views[i].Name != s.member.Name || s.lockout == nil || s.lockout.Heard || s.lockout.Failed {
			continue
		}
		v := views[i]
		lock := v.Lock
		if lock == plan.LockOver {
			lock = plan.LockTried
		}
		// Who takes no turn itself can try nothing for others.
		if lock == plan.LockTried && (v.Gone || v.Spent != "") {
			continue
		}
		if had := known[v.Agent]; had.lock == "" || had.until.Before(v.Until) {
			known[v.Agent] = news{lock, v.Until}
		}
	}
	for i, s := range c.seats() {
		if i >= len(views) || views[i].Name != s.member.Name {
			continue
		}
		s.lent = time.Time{}
		n, ok := known[views[i].Agent]
		if !ok || views[i].Agent == "" || s.lockout != nil {
			continue
		}
		views[i].Lock, views[i].Until, views[i].Borrowed = n.lock, n.until, true
		if views[i].Idle && n.lock == plan.LockUsedUp {
			s.lent = n.until
		}
	}
}

// vendorAnswered notes that the vendor behind a member that was locked out has answered:
// the others on its login need not wait for the end of its turn.
func (c *crew) vendorAnswered(s *seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.lockout == nil || s.lockout.Heard || s.idle {
		return
	}
	l := *s.lockout
	l.Heard = true
	s.lockout = &l
	c.poke()
}
