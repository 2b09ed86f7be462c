package budget

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// useKey tells the uses of one member, or of the team, apart. A limit that is
// changed is another one: its levels are told anew.
func useKey(u journal.BudgetUse) string {
	return u.What + ":" + strconv.FormatFloat(u.Limit, 'f', -1, 64)
}

// useID is the id of the note at a level.
//
// It holds the limit's value, so that a raised limit makes new notes and a member that
// was told of the old one hears of the new one too. A team's has a colon in place of a
// name: no member is called so.
func useID(u journal.BudgetUse, level int) string {
	return fmt.Sprintf("%s%s:%s:%d", teammate.NotePrefix, cmp.Or(u.Member, "team:"), useKey(u), level)
}

// useSetting is the key of the spec that has the limit.
func useSetting(u journal.BudgetUse) string {
	switch {
	case u.Member == "":
		return "budget." + u.What
	case u.What == journal.USD:
		return "limits.max_budget_usd"
	}
	return "limits.max_" + u.What
}

// useReason says that the limit is used up, and the way out.
func useReason(u journal.BudgetUse) string {
	return fmt.Sprintf("%s is used up: %s; raise it in the spec and run `covey up` to go on", useSetting(u), u.Amount())
}

// useNote tells a member of a level, unless it is among those that were noted. passes
// is how many it has left once all is used up.
//
// It is worded for models: what to do comes with the number, because a number alone
// changes nothing of what they do. A nil noted gives the note in any case.
func useNote(u journal.BudgetUse, noted map[string]bool, passes int) []agent.Input {
	if u.Level == 0 || noted[useID(u, u.Level)] {
		return nil
	}
	whose, end := "You have", "the limit"
	if u.Member == "" {
		whose, end = "The team has", "its budget"
	}
	text := fmt.Sprintf("%s used %s (%s).", whose, u.Amount(), useSetting(u))
	switch {
	case u.Level >= 100:
		text += fmt.Sprintf(" That is all of %s. Finish and hand over now: bring what you have into a state from which "+
			"others can go on, save or commit it as is usual here, and say in the task or in a message what is done and "+
			"what is left. Begin nothing new. ", end)
		if passes > 1 {
			text += fmt.Sprintf("You may make at most %d model requests from here on.", passes)
		} else {
			text += "This is your last prompt."
		}
	case u.Level >= 90:
		text += " Finish what you are at, and begin nothing large."
	case u.Level >= 75:
		text += " Plan the rest so that what is left is enough."
	}
	return []agent.Input{{Kind: agent.FromCovey, Text: text, MessageID: useID(u, u.Level)}}
}

// Report is what is used of the team's budget.
func (l *Ledger) Report() []journal.BudgetUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.teamUses()
}

// ReportOf is what is used of a member's own limits, and what it has cost.
func (l *Ledger) ReportOf(member string) (limits []journal.BudgetUse, usd float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.uses(member) {
		if u.Member != "" {
			limits = append(limits, u)
		}
	}
	if a := l.accounts[member]; a != nil {
		usd = a.usd()
	}
	return limits, usd
}

// note puts something into a map that most members never need, and makes it if need be.
func note[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
