package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// troubled is what a person should know of one member's hooks.
type troubled struct {
	member string
	hooks  []hooklist.Count
}

// MemberHooks counts the hooks of a run, as its journal tells of them. The zero
// value has counted nothing.
type MemberHooks struct {
	order   []string // members, in the order in which their first hook ended
	tallies map[string]*hooklist.Tally
}

// Note takes a line of the journal in.
func (m *MemberHooks) Note(l journal.Line) {
	if l.Type != "hook_finished" {
		return
	}
	if m.tallies == nil {
		m.tallies = map[string]*hooklist.Tally{}
	}
	if m.tallies[l.Member] == nil {
		m.tallies[l.Member] = &hooklist.Tally{}
		m.order = append(m.order, l.Member)
	}
	m.tallies[l.Member].Add(hookEnd(l))
}

// Members are those with hooks that a person should know of.
func (m *MemberHooks) Members() []troubled {
	var list []troubled
	for _, name := range m.order {
		if hooks := m.tallies[name].Noteworthy(); len(hooks) > 0 {
			list = append(list, troubled{name, hooks})
		}
	}
	return list
}

// HooksOf takes the same from what a team says of its members.
func HooksOf(members []api.MemberStatus) []troubled {
	var list []troubled
	for _, m := range members {
		if len(m.Hooks) > 0 {
			list = append(list, troubled{m.Name, m.Hooks})
		}
	}
	return list
}

// PrintHookTrouble tells per member of the hooks that failed and let it pass, and
// of the verdicts of those that only observe. A policy that fails in silence is
// worse than none.
func PrintHookTrouble(out *term.Screen, list []troubled) {
	// Failures come first: an observed verdict is news, a failure is a hole.
	failed := false
	for _, t := range list {
		if text := failedText(t); text != "" {
			failed = true
			out.Printf("%s\n", out.Paint(term.Yellow, "! "+text))
		}
	}
	if failed {
		out.Printf("%s\n", out.Paint(term.Faint, "  covey hooks doctor tells why"))
	}
	for _, t := range list {
		if text := observedText(t); text != "" {
			out.Printf("%s\n", out.Paint(term.Cyan, "~ "+text))
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
		parts = append(parts, fmt.Sprintf("%s (%s)%s", term.Short(h.Command), term.Short(h.Why), times(h.FailedOpen)))
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s failed open: %s", term.PlainLine(cmp.Or(t.member, "team")), term.Plural(sum, "hook"),
		strings.Join(parts, ", "))
}

// observedText tells what a member's hooks would have done that only observe;
// empty: nothing.
func observedText(t troubled) string {
	var parts []string
	for _, h := range t.hooks {
		if h.Would > 0 {
			parts = append(parts, fmt.Sprintf("%s would have %s%s", term.Short(h.Command), term.Short(h.Verdict), times(h.Would)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: only observed: %s", term.PlainLine(cmp.Or(t.member, "team")), strings.Join(parts, ", "))
}

// times says how often, where it was more than once.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" ×%d", n)
}
