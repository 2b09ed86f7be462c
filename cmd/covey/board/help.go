package board

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// keyHint is a key and what it does, for the last line.
type keyHint struct{ key, does string }

// keyLine draws the last line: the keys that do something now, as many as fit. The way out comes
// last and is never left out.
func (m *model) keyLine() string {
	filter, out := keyHint{"/", "filter"}, []keyHint{{"?", "help"}, {"q", "quit"}}
	var hints []keyHint
	switch {
	case m.help:
		out = []keyHint{{"any key", "back"}}
	case m.typing != nil && m.typing.filter:
		hints, out = []keyHint{{"Enter", "keep"}}, []keyHint{{"Esc", "clear"}}
	case m.typing != nil:
		hints, out = []keyHint{{"Enter", string(m.typing.deed.verb)}}, []keyHint{{"Esc", "cancel"}}
		if m.typing.deed.typed != nothing {
			hints = append(hints, keyHint{"Up", "earlier text"})
		}
	case m.whole:
		hints = append(deedHints(m.chosen(), m.scene.runs), filter, keyHint{"Esc", "back"})
	default:
		hints = append(deedHints(m.chosen(), m.scene.runs), filter, keyHint{"Tab", "next"}, keyHint{"Enter", "zoom"}, keyHint{"PgUp", "scroll"})
	}
	return m.pencil().hints(hints, out, m.width)
}

// hints draws as many hints as fit beside those in out. The filter comes before verbs if there
// is not room for all, and of out the last one stays.
func (p pencil) hints(hints, out []keyHint, columns int) string {
	const separator = "  "
	room := columns + len(separator)
	width := func(h keyHint) int { return ansi.StringWidth(h.key+" "+h.does) + len(separator) }
	for len(out) > 1 && width(out[0])+width(out[1]) > room {
		out = out[1:]
	}
	for _, h := range out {
		room -= width(h)
	}
	fits := make([]bool, len(hints))
	for _, first := range []bool{true, false} {
		for i, h := range hints {
			if (h.key == "/") == first && width(h) <= room {
				fits[i] = true
				room -= width(h)
			}
		}
	}
	var parts []string
	for i, h := range append(hints, out...) {
		if i >= len(fits) || fits[i] {
			parts = append(parts, p.screen.Paint(term.Cyan, h.key)+" "+p.screen.Paint(term.Faint, h.does))
		}
	}
	return strings.Join(parts, separator)
}

// deedHints names what keys do with a row of a team that runs.
func deedHints(r row, runs bool) []keyHint {
	var hints []keyHint
	for _, d := range deeds {
		if runs && d.can(r) {
			hints = append(hints, keyHint{d.key, string(d.verb)})
		}
	}
	return hints
}

// helpLines draws the help in at most height lines.
func helpLines(height int) []string {
	const text = `Keys                                 (they act on the row with >)
  a, d        approve or deny the question; a text may go along
  s           send a message to the member, or to the lead
  h           hold the member from the end of its turn on, or release it
  i           interrupt the member's turn and hold it
  m, r        merge the finished work on a task, or return it to its author
  Tab, 1-4    the next list; the first, …, the log
  Up, Down    choose a row; its log and what else is known of it are shown
  PgUp, PgDn  scroll the log by a page; Shift-Up, Shift-Down by a line
  Home, End   the first and the last row; in the log, the oldest and the newest
  Enter       one pane fills the board: the whole text of a question, the log
  /           show only what contains a text, in the list or the log
  Esc         one step back; out of what is typed, the filter, the whole pane
  q, Ctrl-C   leave the board; the team goes on
  Ctrl-Z      suspend the board

"all" stands for the whole team. Red needs a person, yellow waits, green goes
well. covey web shows more: the ends of turns, changes, and verdicts.`
	lines := strings.Split(text, "\n")
	return lines[:min(len(lines), max(height, 0))]
}
