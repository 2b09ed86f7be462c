package view

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
)

// helperName returns the prefix of lines of a member's helper: the first letters of
// its id, which the line about its start has as well.
func helperName(id string) string {
	const enough = 7
	id = term.PlainLine(id)
	return "[" + strings.ToValidUTF8(id[:min(len(id), enough)], "") + "] "
}

// named adds a helper's name to the text of its event. A member's own ones are
// unchanged.
func named(e events.Event, text string) string {
	if e.Helper == "" || text == "" {
		return text
	}
	return helperName(e.Helper) + text
}

// helperBegins describes the start of a helper.
func helperBegins(p events.HelperStarted) string {
	where := ""
	if p.Background {
		where = " in the background"
	}
	return fmt.Sprintf("helper %s begins%s: %s\n%s", p.AgentType, where, term.PlainLine(p.Description), quoted(p.Prompt))
}

// helperEnds describes the end of a helper.
func helperEnds(p events.HelperEnded) (string, term.Style) {
	if p.Problem != "" {
		return "helper ended: " + p.Problem, term.Yellow
	}
	return "helper ended: " + p.Reason, term.Faint
}
