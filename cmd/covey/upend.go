package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
)

// report prints how a run ended: the lead's last answer, why it ended, what
// each member did, and what a person should look after. The answer comes first
// and by itself, since it is what the team was started for.
func (c *cli) report(team string, e orchestrator.Ending, counted *memberHooks) {
	if answer := strings.TrimSpace(plain(e.Answer)); answer != "" {
		c.out.printf("\n%s\n", answer)
	}
	c.out.printf("\n%s\n", c.out.paint(bold, endLine(team, e)))
	c.printBudget(e.Budget)
	if len(e.Members) > 0 {
		c.out.printf("\n")
		endTable(e.Members).print(c.out)
	}
	if line := turnsLine(e.Turns); line != "" {
		c.out.printf("%s\n", c.out.paint(faint, line))
	}
	if spent := coordinationLine(e.Coordination); spent != "" {
		c.out.printf("%s\n", c.out.paint(faint, spent))
	}
	for _, problem := range e.Problems {
		c.out.printf("%s\n", c.out.paint(yellow, "! "+plainLine(problem)))
	}
	c.printUnmerged(e.Unmerged)
	c.printHookTrouble(counted.members())
	if hint := endHint(e); hint != "" {
		c.out.printf("\n%s\n", c.out.paint(faint, hint))
	}
}

// turnsLine says how many turns the tasks have taken; empty where none was completed or
// nothing was done for nothing.
func turnsLine(n journal.TurnCount) string {
	if n.Turns == 0 || n.Completed == 0 && n.Empty == 0 {
		return ""
	}
	line := "turns: " + fmt.Sprint(n.Turns)
	if n.Completed > 0 {
		line += fmt.Sprintf(" for %s (%.1f each)", plural(n.Completed, "completed task"), n.PerTask)
	}
	if n.Empty > 0 {
		return line + fmt.Sprintf(", %d of them empty", n.Empty)
	}
	return line + ", none empty"
}

// coordinationLine is what it has cost to tell the lead of the others; empty
// where that is nothing, or nobody knows what the lead has used.
func coordinationLine(c orchestrator.Coordination) string {
	if c.Tokens == 0 || c.Of == 0 {
		return ""
	}
	line := fmt.Sprintf("coordination: about %d of the lead's %d tokens (%.1f %%)", c.Tokens, c.Of, 100*c.Share())
	if c.Finished > 0 {
		line += fmt.Sprintf(", %d per finished task", c.Tokens/int64(c.Finished))
	}
	return line
}

// endLine sums an ending up in one line. It begins with the team's name, so
// that logs of several teams can be told apart.
func endLine(team string, e orchestrator.Ending) string {
	all := 0
	for _, n := range e.Tasks {
		all += n
	}
	line := fmt.Sprintf("%s: %s", team, plainLine(e.Reason))
	if all > 0 {
		line += fmt.Sprintf(" · %d of %d tasks completed", e.Tasks[tasks.Completed], all)
	}
	return line + " · " + elapsed(e.Elapsed)
}

// endTable is what each member did. It shows every member, those that did
// nothing included: that is worth knowing.
func endTable(members []orchestrator.MemberEnding) *table {
	t := &table{head: []string{"MEMBER", "AGENT", "STATE", "TURNS", "PASSES", "COMPLETED", "REFUSALS", "TOKENS"}}
	has := func(what func(orchestrator.MemberEnding) bool) bool { return slices.ContainsFunc(members, what) }
	costs := has(func(m orchestrator.MemberEnding) bool { return m.CostUSD > 0 })
	limited := has(func(m orchestrator.MemberEnding) bool { return len(m.Limits) > 0 })
	if costs {
		t.head = append(t.head, "COST")
	}
	if limited {
		t.head = append(t.head, "USED")
	}
	for _, m := range members {
		completed := slices.Clone(m.Completed)
		slices.SortFunc(completed, func(x, y string) int { return number(x) - number(y) })
		row := []cell{{text: m.Name}, {text: m.Agent}, {string(m.State), memberStyle(m.State)},
			{text: fmt.Sprint(m.Turns)}, {text: fmt.Sprint(m.Passes)},
			{text: strings.Join(completed, ", ")}, {text: fmt.Sprint(m.Refusals)}, {text: tokensText(m)}}
		if costs {
			row = append(row, cell{text: fmt.Sprintf("$%.2f", m.CostUSD)})
		}
		if limited {
			row = append(row, usedCell(m.Limits))
		}
		t.add(row...)
	}
	return t
}

// tokensText is what a member has used. A program that does not tell has not
// used nothing.
func tokensText(m orchestrator.MemberEnding) string {
	switch {
	case m.TokensUnknown && m.Tokens == 0:
		return "unknown"
	case m.TokensUnknown:
		return fmt.Sprintf("%d+", m.Tokens)
	}
	return fmt.Sprint(m.Tokens)
}

// memberStyle sets a member's state off. Only what a person should look at is
// set off.
func memberStyle(state orchestrator.MemberState) style {
	switch state {
	case orchestrator.Working:
		return green
	case orchestrator.Waiting, orchestrator.Limited:
		return yellow
	case orchestrator.NeedsAttention, orchestrator.LoggedOut:
		return red
	}
	return normal
}

// endHint says what a person can do next. After a run that is done there is
// nothing to be told. A run that had nothing to do has the code of one that is
// done, so it is told apart first.
func endHint(e orchestrator.Ending) string {
	switch {
	case e.AlreadyDone:
		return "Give it a new goal (covey up SPEC GOAL), or begin anew with --fresh."
	case e.Code == orchestrator.CodeInterrupted:
		return "covey up takes it up again where it was."
	case e.Code != orchestrator.CodeDone:
		return "covey logs MEMBER tells what happened, covey tasks graph what waits for what; " +
			"covey up takes it up again."
	}
	return ""
}
