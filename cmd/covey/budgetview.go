package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// printBudget prints what is used of the team's budget, if it has one.
func (c *cli) printBudget(uses []orchestrator.BudgetUse) {
	if len(uses) == 0 {
		return
	}
	texts := make([]string, len(uses))
	for i, u := range uses {
		texts[i] = c.out.paint(levelStyle(u.Level), u.String())
	}
	c.out.printf("budget: %s\n", strings.Join(texts, " · "))
}

// usedCell is what a member has used of its own limits: 12000/20000, $1.25/$2.00.
func usedCell(limits []orchestrator.BudgetUse) cell {
	var texts []string
	level := 0
	for _, u := range limits {
		most := ""
		if u.Least {
			most = "≥"
		}
		if u.What == "usd" {
			texts = append(texts, fmt.Sprintf("%s$%.2f/$%.2f", most, u.Used, u.Limit))
		} else {
			texts = append(texts, fmt.Sprintf("%s%.0f/%.0f", most, u.Used, u.Limit))
		}
		level = max(level, u.Level)
	}
	return cell{strings.Join(texts, " "), levelStyle(level)}
}

// levelStyle sets off what is nearly used up.
func levelStyle(level int) style {
	switch {
	case level >= 100:
		return red
	case level >= 75:
		return yellow
	}
	return normal
}

// budgetText tells of a limit or a budget that is used to a certain share.
func budgetText(l journal.Line) (string, style) {
	var u orchestrator.BudgetUse
	if json.Unmarshal(l.Data, &u) != nil || u.Limit <= 0 {
		return "", normal
	}
	whose := "the budget"
	if u.Member != "" {
		whose = "its limit"
	}
	return fmt.Sprintf("has used %s of %s", u, whose), levelStyle(u.Level)
}

// fallbackText tells of a member that goes on with another agent.
func fallbackText(l journal.Line) string {
	var a orchestrator.AgentChanged
	if json.Unmarshal(l.Data, &a) != nil {
		return ""
	}
	if a.Until.IsZero() {
		return fmt.Sprintf("goes back from %s to %s", a.From, a.To)
	}
	return fmt.Sprintf("goes on with %s, until %s has no limit any more (%s)", a.To, a.From,
		orchestrator.ShortTime(a.Until.Local(), l.Time.Local()))
}
