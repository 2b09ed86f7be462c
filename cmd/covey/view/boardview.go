package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// draw draws the board as of now, in at most height lines of at most width columns: a
// heading, a line per member, and as much of the news as fits. However small the
// terminal, the heading comes first. Members come before news, because the present
// matters more than the past. The foot is dropped first.
func (b *board) draw(s *term.Screen, width, height int, now time.Time) []string {
	lines := []string{s.Paint(term.Bold, term.Fit(b.heading(now), width))}
	foot := b.foot()
	room := height - 1
	if foot != "" && height >= 4 {
		room--
	}
	if room > len(b.members)+1 {
		lines = append(lines, "")
		room--
	}
	lines = append(lines, b.memberLines(s, width, room)...)
	room -= min(room, len(b.members))
	if room >= 3 {
		lines = append(lines, b.newsLines(s, width, room)...)
	}
	if foot != "" && height >= 4 {
		for len(lines) < height-1 {
			lines = append(lines, "")
		}
		lines = append(lines, s.Paint(term.Faint, term.Fit(foot, width)))
	}
	return lines[:min(len(lines), max(height, 1))]
}

// heading summarizes the team in one line. What matters most comes first, because a
// narrow terminal cuts the end.
func (b *board) heading(now time.Time) string {
	done, all := b.counts()
	parts := []string{"covey: " + b.team, fmt.Sprintf("%d of %d tasks done", done, all)}
	if b.refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", b.refused))
	}
	parts = append(parts, term.Elapsed(now.Sub(b.started)))
	if b.waits != "" {
		parts = append(parts, "waits until "+b.waits)
	}
	if b.ended != "" {
		parts = append(parts, "ended: "+term.Short(b.ended))
	}
	return strings.Join(parts, " · ")
}

// foot says what the operator can do now. A notice of the program replaces the hint:
// it is what one waits for after pressing Ctrl-C.
func (b *board) foot() string {
	if b.notice != "" {
		return b.notice
	}
	return `Ctrl-C stops the team in order; "covey attach MEMBER" in another terminal talks to one`
}

// memberLines returns a line per member, at most room of them; if there are more, the
// last line says how many. The lead comes first and so is left out only if nothing
// but the count fits.
func (b *board) memberLines(s *term.Screen, width, room int) []string {
	if room <= 0 {
		return nil
	}
	show := b.members
	if len(show) > room {
		show = show[:room-1]
	}
	names := 0
	for _, m := range show {
		names = max(names, len([]rune(m.name)))
	}
	names = min(names, max(width/4, term.MinColumn))
	var lines []string
	for _, m := range show {
		lines = append(lines, b.memberLine(s, m, names, width))
	}
	if more := len(b.members) - len(show); more > 0 {
		lines = append(lines, s.Paint(term.Faint, term.Fit(fmt.Sprintf("  and %d more; covey ps lists them", more), width)))
	}
	return lines
}

// memberLine describes one member: name, state, task, what it does, refusals. The
// name column is as wide as the longest name shown, but not wider than a quarter of
// the terminal, so that a long name does not cut off the state. Of several tasks in
// progress it names the first.
func (b *board) memberLine(s *term.Screen, m *memberRow, names, width int) string {
	var rest []string
	if own, _ := b.tasksOf(m.name); len(own) > 0 {
		rest = append(rest, "task "+own[0].ID)
	}
	if m.refused > 0 {
		rest = append(rest, fmt.Sprintf("%d refused", m.refused))
	}
	if what := b.what(m); what != "" {
		rest = append(rest, what)
	}
	name := term.Padded(term.Fit(m.name, names), names)
	state := s.Paint(stateStyle(m.state), term.Padded(m.label(), len(attention)))
	return term.Fit("  "+name+"  "+state+"  "+strings.Join(rest, " · "), width)
}

// stateStyle highlights a state. Starting, idle and ended members are faint: they
// need no look.
func stateStyle(state string) term.Style {
	switch state {
	case working:
		return term.Green
	case atGates, waiting, limited, held:
		return term.Yellow
	case attention, loggedOut:
		return term.Red
	}
	return term.Faint
}

// newsLines returns the tail of the news below an empty line. Each entry takes one
// line; logs and attach show the rest. room includes the empty line and must be at
// least 1.
func (b *board) newsLines(s *term.Screen, width, room int) []string {
	lines := []string{""}
	from := max(0, len(b.news)-(room-1))
	for _, e := range b.news[from:] {
		text := entryLines(s, entry{at: e.at, who: e.who, text: e.text, style: e.style}, 0)[0]
		lines = append(lines, term.Fit(text, width))
	}
	return lines
}
