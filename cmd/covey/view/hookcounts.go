package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
)

// printHooks prints, per member, the hooks that failed and let everything pass,
// and the verdicts of hooks that only observe. A policy that fails silently is worse
// than none.
func printHooks(out *term.Screen, list []api.MemberStatus) {
	// Failures come first: an observed verdict is information, a failure is a hole.
	failed := false
	for _, m := range list {
		if text := failedText(m); text != "" {
			failed = true
			out.Printf("%s\n", out.Paint(term.Yellow, "! "+text))
		}
	}
	if failed {
		out.Printf("%s\n", out.Paint(term.Faint, "  covey hooks doctor tells why"))
	}
	for _, m := range list {
		if text := observedText(m); text != "" {
			out.Printf("%s\n", out.Paint(term.Cyan, "~ "+text))
		}
	}
}

// failedText lists a member's hooks that failed open; empty: none did. A script that failed
// in the same way on several events is there once.
func failedText(m api.MemberStatus) string {
	sum, parts, each := 0, []string(nil), map[string]int{}
	for _, h := range m.Hooks {
		if h.FailedOpen == 0 {
			continue
		}
		text := fmt.Sprintf("%s (%s)", term.Short(h.Command), term.ShortMiddle(h.Why))
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
	return fmt.Sprintf("%s: %s failed open: %s", term.PlainLine(cmp.Or(m.Name, "team")), texts.Plural(sum, "hook"),
		strings.Join(parts, ", "))
}

// observedText returns what a member's observing hooks would have done; empty: nothing.
func observedText(m api.MemberStatus) string {
	var parts []string
	for _, h := range m.Hooks {
		if h.Would > 0 {
			parts = append(parts, fmt.Sprintf("%s would have %s%s", term.Short(h.Command), term.Short(h.Verdict), times(h.Would)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: only observed: %s", term.PlainLine(cmp.Or(m.Name, "team")), strings.Join(parts, ", "))
}

// times formats a count above one.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" ×%d", n)
}
