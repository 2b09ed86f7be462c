package board

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// keyHint is a key and what it does, for the last line.
type keyHint struct{ key, does string }

// keyLine draws the last line: the keys that do something now. The way out comes last and is never
// left out.
func (m *model) keyLine() string {
	filter, out := keyHint{"/", "filter"}, []keyHint{{"?", "help"}, {"q", "quit"}}
	if m.stop != nil {
		out[1] = keyHint{"Ctrl-C", "stop"}
	}
	var hints []keyHint
	switch {
	case m.typing != nil && m.typing.stays && m.notice != "":
		return m.noticed()
	case m.help:
		out = []keyHint{{"any key", "back"}}
	case m.typing != nil && m.typing.filter:
		hints, out = []keyHint{{"Enter", "keep"}}, []keyHint{{"Esc", "clear"}}
	case m.typing != nil:
		hints, out = []keyHint{{"Enter", string(m.typing.deed.verb)}}, []keyHint{{"Esc", "cancel"}}
		if m.typing.stays {
			hints, out = append(hints, keyHint{"PgUp", "scroll"}), []keyHint{{"Esc", "keys"}, {"Ctrl-D", "quit"}}
		}
		if m.typing.deed.typed != nothing {
			hints = append(hints, keyHint{"Up", "earlier text"})
		}
	case m.readsChanges():
		hints = slices.DeleteFunc(deedHints(m.chosen(), m.scene.runs), func(h keyHint) bool { return h.does == string(Changes) })
		hints = append([]keyHint{{"Esc", "back"}, {"n", "next"}, {"PgDn", "scroll"}}, hints...)
	case m.whole:
		hints = append([]keyHint{{"Esc", "back"}}, append(deedHints(m.chosen(), m.scene.runs), filter)...)
	default:
		hints = append(m.pickHints(), filter, keyHint{"Tab", "next"},
			keyHint{"Enter", "zoom"}, keyHint{"PgUp", "scroll"})
	}
	return m.pencil().hints(hints, out, m.width)
}

// hints draws the hints, then those in out. If there is not room for all, the last ones are left out, because the
// first are needed most and the help has all: a key without a word helps nobody. Those in out lose their words last, and the last of them stays.
func (p pencil) hints(hints, out []keyHint, columns int) string {
	out = slices.Clone(out)
	for p.hintsWidth(hints, out) > columns && len(hints) > 0 {
		hints = hints[:len(hints)-1]
	}
	for i := len(out) - 1; i >= 0 && p.hintsWidth(hints, out) > columns; i-- {
		out[i].does = ""
	}
	for p.hintsWidth(hints, out) > columns && len(out) > 1 {
		out = out[1:]
	}
	return p.hintLine(hints, out)
}

// hintsWidth returns the columns of a line of hints.
func (p pencil) hintsWidth(hints, out []keyHint) int { return ansi.StringWidth(p.hintLine(hints, out)) }

// hintLine draws hints in a line. Keys without words stand closer together.
func (p pencil) hintLine(hints, out []keyHint) string {
	var b strings.Builder
	all := slices.Concat(hints, out)
	for i, h := range all {
		b.WriteString(p.screen.Paint(term.Cyan, h.key))
		if h.does != "" {
			b.WriteString(" " + p.screen.Paint(term.Faint, h.does))
		}
		switch {
		case i == len(all)-1:
		case h.does == "" && all[i+1].does == "":
			b.WriteString(" ")
		default:
			b.WriteString("  ")
		}
	}
	return b.String()
}

// pickHints names what keys do with the row, and with what is chosen.
func (m *model) pickHints() []keyHint {
	r := m.chosen()
	hints := deedHints(r, m.scene.runs)
	if n := len(m.pickedRows()); n > 0 && m.scene.runs {
		hints = slices.DeleteFunc(hints, func(h keyHint) bool { return h.key == "m" })
		hints = append([]keyHint{{"m", fmt.Sprintf("merge the %d chosen", n)}}, hints...)
	}
	if m.from == needs && r.work && m.scene.runs {
		hints = slices.Insert(hints, slices.IndexFunc(hints, func(h keyHint) bool { return h.key == send.key }), keyHint{"x", "choose"})
	}
	return hints
}

// deedHints names what keys do with a row of a team that runs.
func deedHints(r row, runs bool) []keyHint {
	var hints []keyHint
	for _, d := range deeds {
		if (runs || d.verb == Changes) && d.can(r) {
			hints = append(hints, keyHint{d.key, string(d.verb)})
		}
	}
	return hints
}

// helpLines draws the help in at most height lines.
func helpLines(height int) []string {
	const text = `Keys act on the row with >. Ctrl-Z suspends covey.
  a, d        approve or deny the question; a text may go along
  s           send a message to the member, or to the lead
  h           hold the member from the end of its turn on, or release it
  i           interrupt the member's turn and hold it
  m, r, M     merge the finished work on a task, send it back with a reason,
              merge all that has no marks
  d, Enter    its diff (D where d denies); there, n and p go to the next work,
              as m and r do once they are answered
  x           choose finished work, or no longer; then m merges what is chosen
  Tab, 1-4    the next list; the first, …, the log
  Up, Down    the next row, as j and k; its log and what else is known of it are shown
  PgUp, PgDn  scroll the log by a page; Shift-Up, Shift-Down by a line
  Home, End   the first and the last row; in the log, the oldest and the newest
  Enter       else one pane fills the board: a question as a whole, the log
  /           show only what contains a text, in the list or the log
  Esc         one step back; out of what is typed, the filter, the whole pane
  q, Ctrl-C   leave the board; under "covey up", Ctrl-C stops the team

"all" stands for the whole team. Red is a failure or a mark, yellow waits,
green is done or goes well. covey web also shows turn ends, and verdicts.`
	lines := strings.Split(text, "\n")
	return lines[:min(len(lines), max(height, 0))]
}
