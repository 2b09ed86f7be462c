package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/teammate/agent"
)

// PrintBudget prints what is used of the team's budget, if it has one.
func PrintBudget(out *term.Screen, uses []events.BudgetUse) {
	if len(uses) == 0 {
		return
	}
	texts := make([]string, len(uses))
	for i, u := range uses {
		texts[i] = out.Paint(levelStyle(u.Level), u.String())
	}
	out.Printf("budget: %s\n", strings.Join(texts, " · "))
}

// PrintBus prints the state of the servers that keep the team's data, if there are any.
func PrintBus(out *term.Screen, b *events.Bus) {
	if b != nil {
		out.Line(busText(*b))
	}
}

// busText describes the state of the servers.
func busText(b events.Bus) (term.Style, string) {
	style := term.Faint
	if b.Bad() {
		style = term.Yellow
	}
	return style, "bus: " + term.PlainLine(b.String())
}

// BusOf returns the state of the servers of a run: what the process that runs the team says, or else
// the journal's last word on it; nil: there are none, or the run has ended.
func BusOf(s *view.State, now *api.Status) *events.Bus {
	switch {
	case now != nil && now.Bus != nil:
		return now.Bus
	case s.Run().Ended.IsZero():
		return s.Bus
	}
	return nil
}

// UsedCell formats what a member has used of its own limits: 12000/20000,
// $1.25/$2.00.
func UsedCell(limits []events.BudgetUse) term.Cell {
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
	return term.Cell{Text: strings.Join(texts, " "), Style: levelStyle(level)}
}

// Dollars formats a cost; empty: it is not known, or too small to show.
func Dollars(usd float64) string {
	if usd < 0.005 {
		return ""
	}
	return fmt.Sprintf("$%.2f", usd)
}

// levelStyle highlights what is nearly used up.
func levelStyle(level int) term.Style {
	switch {
	case level >= 100:
		return term.Red
	case level >= 75:
		return term.Yellow
	}
	return term.Normal
}

// budgetText describes how much of a limit or a budget is used.
func budgetText(u events.BudgetUse) (string, term.Style) {
	if u.Limit <= 0 {
		return "", term.Normal
	}
	whose := "the budget"
	if u.Member != "" {
		whose = "its limit"
	}
	return fmt.Sprintf("has used %s of %s", u, whose), levelStyle(u.Level)
}

// fallbackText describes a member's change to another agent.
func fallbackText(a events.AgentChanged, now time.Time) string {
	if a.Until.IsZero() {
		return fmt.Sprintf("goes back from %s to %s", a.From, a.To)
	}
	return fmt.Sprintf("goes on with %s, until the limit of %s ends (%s)", a.To, a.From,
		texts.ShortTime(a.Until.Local(), now.Local()))
}

// nearlyFull is the part of a model's window, in percent, above which people are told how full a
// conversation is. The builtin agent summarizes it then.
const nearlyFull = 80

// ContextCell returns how full a member's conversation is; ? if its agent does not say.
func ContextCell(c agent.ContextUse) term.Cell {
	part, ok := c.Percent()
	switch {
	case !ok:
		return term.Cell{Text: "?"}
	case part >= nearlyFull:
		return term.Cell{Text: fmt.Sprintf("%d%%", part), Style: term.Yellow}
	}
	return term.Cell{Text: fmt.Sprintf("%d%%", part)}
}

// MemberStyle highlights a state that needs a look.
func MemberStyle(state api.MemberState) term.Style {
	switch state {
	case api.Working:
		return term.Green
	case api.Waiting, api.Limited, api.NeedsAttention, api.LoggedOut: // the last two wait for a person
		return term.Yellow
	}
	return term.Normal
}
