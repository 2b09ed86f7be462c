package view

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// helperName returns the prefix of lines of a member's helper: the first letters of
// its id, which the line about its start has as well.
func helperName(id string) string {
	const enough = 7
	id = term.PlainLine(id)
	return "[" + strings.ToValidUTF8(id[:min(len(id), enough)], "") + "] "
}

// named adds a helper's name to the text of its line. A member's own lines are
// unchanged.
func named(l journal.Line, text string) string {
	if l.Helper == "" || text == "" {
		return text
	}
	return helperName(l.Helper) + text
}

// helperBegins describes the start of a helper.
func helperBegins(p payload) string {
	where := ""
	if p.Background {
		where = " in the background"
	}
	return fmt.Sprintf("helper %s begins%s: %s\n%s", p.AgentType, where, term.PlainLine(p.Description), quoted(p.Prompt))
}

// helperEnds describes the end of a helper.
func helperEnds(p payload) (string, term.Style) {
	if p.Problem != "" {
		return "helper ended: " + p.Problem, term.Yellow
	}
	return "helper ended: " + p.Reason, term.Faint
}
