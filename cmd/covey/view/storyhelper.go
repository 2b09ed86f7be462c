package view

import (
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// helperName is how a line tells whose it is that is not the member's own: by the
// first letters of its helper's id, which stand in the line that began it, too.
func helperName(id string) string {
	const enough = 7
	id = term.PlainLine(id)
	return "[" + id[:min(len(id), enough)] + "] "
}

// named puts a helper's name before what a line tells of it. A member's own lines
// stay as they are.
func named(l journal.Line, text string) string {
	if l.Helper == "" || text == "" {
		return text
	}
	return helperName(l.Helper) + text
}

// helperBegins tells of a helper that begins.
func helperBegins(p payload) string {
	where := ""
	if p.Background {
		where = " in the background"
	}
	return fmt.Sprintf("helper %s begins%s: %s\n%s", p.AgentType, where, term.PlainLine(p.Description), quoted(p.Prompt))
}

// helperEnds tells of a helper that has ended.
func helperEnds(p payload) (string, term.Style) {
	if p.Problem != "" {
		return "helper ended: " + p.Problem, term.Yellow
	}
	return "helper ended: " + p.Reason, term.Faint
}

// applyHelper takes in what a helper of the member did: it is what the member
// does, while the member waits for it.
func (b *board) applyHelper(s *seat, l journal.Line, p payload) {
	switch l.Type {
	case "tool_call":
		if s.state == working {
			s.doing = term.Short("helper: " + callText(p.Name, p.Input))
		}
	case "hook_feedback":
		s.refused++
		b.refused++
	}
}
