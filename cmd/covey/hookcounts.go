package main

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// troubled is what a person should know of one member's hooks.
type troubled struct {
	member string
	hooks  []orchestrator.HookCount
}

// memberHooks counts the hooks of a run, as its journal tells of them. The zero
// value has counted nothing.
type memberHooks struct {
	order   []string // members, in the order in which their first hook ended
	tallies map[string]*orchestrator.HookTally
}

// note takes a line of the journal in.
func (m *memberHooks) note(l journal.Line) {
	if l.Type != "hook_finished" {
		return
	}
	if m.tallies == nil {
		m.tallies = map[string]*orchestrator.HookTally{}
	}
	if m.tallies[l.Member] == nil {
		m.tallies[l.Member] = &orchestrator.HookTally{}
		m.order = append(m.order, l.Member)
	}
	m.tallies[l.Member].Add(data(l).hookEnd())
}

// members are those with hooks that a person should know of.
func (m *memberHooks) members() []troubled {
	var list []troubled
	for _, name := range m.order {
		if hooks := m.tallies[name].Noteworthy(); len(hooks) > 0 {
			list = append(list, troubled{name, hooks})
		}
	}
	return list
}

// hooksOf takes the same from what a team says of its members.
func hooksOf(members []orchestrator.MemberStatus) []troubled {
	var list []troubled
	for _, m := range members {
		if len(m.Hooks) > 0 {
			list = append(list, troubled{m.Name, m.Hooks})
		}
	}
	return list
}

// printHookTrouble tells per member of the hooks that failed and let it pass, and
// of the verdicts of those that only observe. A policy that fails in silence is
// worse than none.
func (c *cli) printHookTrouble(list []troubled) {
	// Failures come first: an observed verdict is news, a failure is a hole.
	failed := false
	for _, t := range list {
		if text := failedText(t); text != "" {
			failed = true
			c.out.printf("%s\n", c.out.paint(yellow, "! "+text))
		}
	}
	if failed {
		c.out.printf("%s\n", c.out.paint(faint, "  covey hooks doctor tells why"))
	}
	for _, t := range list {
		if text := observedText(t); text != "" {
			c.out.printf("%s\n", c.out.paint(cyan, "~ "+text))
		}
	}
}

// failedText tells of a member's hooks that failed open; empty: none did.
func failedText(t troubled) string {
	sum, parts := 0, []string(nil)
	for _, h := range t.hooks {
		if h.FailedOpen == 0 {
			continue
		}
		sum += h.FailedOpen
		parts = append(parts, fmt.Sprintf("%s (%s)%s", short(h.Command), short(h.Why), times(h.FailedOpen)))
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s failed open: %s", plainLine(firstOf(t.member, "team")), hookRuns(sum),
		strings.Join(parts, ", "))
}

// observedText tells what a member's hooks would have done that only observe;
// empty: nothing.
func observedText(t troubled) string {
	var parts []string
	for _, h := range t.hooks {
		if h.Would > 0 {
			parts = append(parts, fmt.Sprintf("%s would have %s%s", short(h.Command), short(h.Verdict), times(h.Would)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: only observed: %s", plainLine(firstOf(t.member, "team")), strings.Join(parts, ", "))
}

// note prints a text with an indent, wrapped on a terminal.
func (c *cli) note(st style, text string) {
	lines := []string{plainLine(text)}
	if width, _ := c.out.size(); width > 0 {
		lines = wrapped(lines[0], width-2, width-2)
	}
	for _, line := range lines {
		c.out.printf("  %s\n", c.out.paint(st, line))
	}
}

// hookRuns is a number of hooks, in words.
func hookRuns(n int) string {
	if n == 1 {
		return "1 hook"
	}
	return fmt.Sprintf("%d hooks", n)
}

// times says how often, where it was more than once.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" ×%d", n)
}
