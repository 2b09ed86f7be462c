package accounts

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// useKey identifies a use of one member, or of the team. It contains the limit, so that the
// levels of a changed limit are reported again.
func useKey(u events.BudgetUse) string {
	return u.What + ":" + strconv.FormatFloat(u.Limit, 'f', -1, 64)
}

// useID returns the id of the note on a level.
//
// It contains the limit, so that a raised limit makes new notes. A note on the team's budget
// has a colon in place of a member's name, which cannot be a name.
func useID(u events.BudgetUse, level int) string {
	return fmt.Sprintf("%s%s:%s:%d", agent.NotePrefix, cmp.Or(u.Member, "team:"), useKey(u), level)
}

// useSetting returns the key of the limit in the spec.
func useSetting(u events.BudgetUse) string {
	switch {
	case u.Member == "":
		return "budget." + u.What
	case u.What == events.USD:
		return "limits.max_budget_usd"
	}
	return "limits.max_" + u.What
}

// useReason reports that the limit is used up, and how to raise it.
func useReason(u events.BudgetUse) string {
	rest := ""
	if !u.Full() {
		rest = ", and the rest is for handing over"
	}
	return fmt.Sprintf("%s is used up: %s%s; raise it in the spec to go on", useSetting(u), u.Amount(), rest)
}

// useNote returns the note that tells a member of a level, unless noted has its id. passes is
// how many passes the member has left once the limit is used up.
//
// The note tells the model what to do, because models do not react to a number alone.
func useNote(u events.BudgetUse, noted map[string]bool, passes int) []agent.Input {
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
		all := "What is left of " + end + " is for handing over."
		if u.Full() {
			all = "That is all of " + end + "."
		}
		text += " " + all + " Finish and hand over now: bring what you have into a state from which " +
			"others can go on, save or commit it as is usual here, and say in the task or in a message what is done and " +
			"what is left. Begin nothing new. "
		if passes > 1 {
			text += fmt.Sprintf("You may make at most %d model requests from here on, the most important first.", passes)
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

// note sets a value in a map, and makes the map first if it is nil.
func note[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
