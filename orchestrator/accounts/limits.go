package accounts

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate"
)

// GiveUp records that a member takes no more turns because a limit is used up.
func (l *Ledger) GiveUp(member string) { l.mark(member, true) }

// Assigned records that no limit keeps a member from its turn. It implements crew.Assigner.
func (l *Ledger) Assigned(m *members.Member, _ teammate.Work) { l.mark(m.Name, false) }

func (l *Ledger) mark(member string, spent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[member]; a != nil {
		a.spent = spent
	}
}

// Raised reports, once, that a member which had used up a limit can go on.
func (l *Ledger) Raised(member string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[member]
	if a == nil || !a.spent {
		return false
	}
	if _, over := l.over(member); over {
		return false
	}
	a.spent = false
	return true
}

// Saw records the end of a member's turn: whether a used up limit has ended it, and which use is not
// known. It implements crew.Watcher.
func (l *Ledger) Saw(_ context.Context, m *members.Member, e events.Event) error {
	end, ok := e.Data.(events.TurnEnded)
	if !ok {
		return nil
	}
	l.mark(m.Name, end.Reason == events.EndMaxTokens || end.Reason == events.EndMaxBudget)
	if text := l.unknown(m.Name, end); text != "" {
		l.deps.Tell(m.Name, events.Warning{Text: text})
	}
	return nil
}

// unknown returns a warning on use of a member that is not exactly known, or "". It warns once
// of each kind, and only if there is a limit on it.
//
// hazy and dear are never reset, because use that was not reported stays unknown in later
// runs. Tokens of a subscription have no price, so they do not make an account dear.
func (l *Ledger) unknown(member string, end events.TurnEnded) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[member]
	if a == nil {
		return ""
	}
	_, priced := l.prices.find(a.model)
	a.hazy = a.hazy || end.UsageUnknown
	a.dear = a.dear || !a.free && !a.held && !priced && a.told == 0 && (end.UsageUnknown || end.Usage.Total() > 0)
	l.hazy, l.dear = l.hazy || a.hazy, l.dear || a.dear
	for _, u := range l.uses(member) {
		mine := u.What == events.Tokens && a.hazy || u.What == events.USD && a.dear
		if !mine || a.warned[u.What] {
			continue
		}
		note(&a.warned, u.What, true)
		if u.What == events.Tokens {
			return fmt.Sprintf("the agent program of %s does not tell all the tokens that it uses: %s cannot be held "+
				"exactly, what is counted is the least", member, useSetting(u))
		}
		return fmt.Sprintf("what the tokens of %s cost is not known, so %s does not count them: give %q a price in "+
			"the file that budget.prices names, or bound its tokens", member, useSetting(u), cmp.Or(a.model, member))
	}
	return ""
}
