package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hookinfo"
	"github.com/coveyteam/covey/orchestrator/view"
)

// hookTrouble is what the operator should know about one member's hooks.
type hookTrouble struct {
	member string
	hooks  []hookinfo.Count
}

// hooksIn returns the members whose hooks need a look in the present run, and the gates at
// merges, which belong to no member.
func hooksIn(run *view.State) []hookTrouble {
	var list []hookTrouble
	for _, m := range run.Members {
		if hooks := m.Hooks.Noteworthy(); len(hooks) > 0 {
			list = append(list, hookTrouble{m.Name, hooks})
		}
	}
	if hooks := run.MergeHooks.Noteworthy(); len(hooks) > 0 {
		list = append(list, hookTrouble{"", hooks})
	}
	return list
}

// HooksOf returns the same from the status of a team's members.
func HooksOf(members []api.MemberStatus) []hookTrouble {
	var list []hookTrouble
	for _, m := range members {
		if len(m.Hooks) > 0 {
			list = append(list, hookTrouble{m.Name, m.Hooks})
		}
	}
	return list
}

// PrintHookTrouble prints, per member, the hooks that failed and let everything pass,
// and the verdicts of hooks that only observe. A policy that fails silently is worse
// than none.
func PrintHookTrouble(out *term.Screen, list []hookTrouble) {
	// Failures come first: an observed verdict is information, a failure is a hole.
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

// failedText lists a member's hooks that failed open; empty: none did. A script that failed
// in the same way on several events is there once.
func failedText(t hookTrouble) string {
	sum, parts, each := 0, []string(nil), map[string]int{}
	for _, h := range t.hooks {
		if h.FailedOpen == 0 {
			continue
		}
		text := fmt.Sprintf("%s (%s)", term.Short(h.Command), term.Short(h.Why))
		if each[text] == 0 {
			parts = append(parts, text)
		}
		sum, each[text] = sum+h.FailedOpen, each[text]+h.FailedOpen
	}
	if sum == 0 {
		return ""
	}
	for i, text := range parts {
		parts[i] = text + times(each[text])
	}
	return fmt.Sprintf("%s: %s failed open: %s", term.PlainLine(cmp.Or(t.member, "team")), term.Plural(sum, "hook"),
		strings.Join(parts, ", "))
}

// observedText says what a member's observing hooks would have done; empty: nothing.
func observedText(t hookTrouble) string {
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

// times formats a count above one.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" ×%d", n)
}
