package orchestrator

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// What limits and budgets are about.
const (
	useTokens = "tokens"
	useUSD    = "usd"
	useTime   = "time"
)

// BudgetUse is how much of one limit is used: of a member's own, or of the
// team's budget. The journal has it each time that 50, 75, 90 or 100 percent are
// reached.
type BudgetUse struct {
	Member string  `json:"member,omitempty"` // whose limit it is; empty: the team's
	What   string  `json:"what"`             // tokens, usd or time
	Used   float64 `json:"used"`             // tokens, US dollars or seconds, of all runs
	Limit  float64 `json:"limit"`            // likewise; 0: none
	Level  int     `json:"level"`            // 50, 75, 90 or 100 once that much of it is used, else 0
	// Least says that not all that was used is known: Used is the least.
	Least bool `json:"least,omitempty"`
}

// EventType is the journal's name for it.
func (BudgetUse) EventType() string { return "budget" }

// newUse is a use with its level.
func newUse(member, what string, used, limit float64) BudgetUse {
	return BudgetUse{Member: member, What: what, Used: used, Limit: limit, Level: teammate.Level(used, limit)}
}

// key tells the uses of one member, or of the team, apart. A limit that is
// changed is another one: its levels are told anew.
func (u BudgetUse) key() string {
	return u.What + ":" + strconv.FormatFloat(u.Limit, 'f', -1, 64)
}

// id is the id of the note at a level.
//
// It holds the limit's value, so that a raised limit makes new notes and a member that
// was told of the old one hears of the new one too. A team's has a colon in place of a
// name: no member is called so.
func (u BudgetUse) id(level int) string {
	return fmt.Sprintf("%s%s:%s:%d", teammate.NotePrefix, cmp.Or(u.Member, "team:"), u.key(), level)
}

// setting is the key of the spec that has the limit.
func (u BudgetUse) setting() string {
	switch {
	case u.Member == "":
		return "budget." + u.What
	case u.What == useUSD:
		return "limits.max_budget_usd"
	}
	return "limits.max_" + u.What
}

// amount is the use for people and models: 12000 of 20000 tokens.
func (u BudgetUse) amount() string {
	most := ""
	if u.Least {
		most = "at least "
	}
	switch u.What {
	case useUSD:
		return fmt.Sprintf("%s%.2f of %.2f US dollars", most, u.Used, u.Limit)
	case useTime:
		return fmt.Sprintf("%v of %v", seconds(u.Used), seconds(u.Limit))
	}
	return fmt.Sprintf("%s%.0f of %.0f tokens", most, u.Used, u.Limit)
}

// String is the use as `covey ps` shows it: 12000 of 20000 tokens (60 %).
func (u BudgetUse) String() string {
	return fmt.Sprintf("%s (%.0f %%)", u.amount(), u.Used*100/u.Limit)
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

// reason says that the limit is used up, and the way out.
func (u BudgetUse) reason() string {
	return fmt.Sprintf("%s is used up: %s; raise it in the spec and run `covey up` to go on", u.setting(), u.amount())
}

// note tells a member of a level, unless it is among those that were noted. passes
// is how many it has left once all is used up.
//
// It is worded for models: what to do comes with the number, because a number alone
// changes nothing of what they do. A nil noted gives the note in any case.
func (u BudgetUse) note(noted map[string]bool, passes int) []agent.Input {
	if u.Level == 0 || noted[u.id(u.Level)] {
		return nil
	}
	whose, end := "You have", "the limit"
	if u.Member == "" {
		whose, end = "The team has", "its budget"
	}
	text := fmt.Sprintf("%s used %s (%s).", whose, u.amount(), u.setting())
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
	return []agent.Input{{Kind: agent.FromCovey, Text: text, MessageID: u.id(u.Level)}}
}

// report is what is used of the team's budget.
func (l *ledger) report() []BudgetUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.teamUses()
}

// reportOf is what is used of a member's own limits, and what it has cost.
func (l *ledger) reportOf(member string) (limits []BudgetUse, usd float64) {
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
