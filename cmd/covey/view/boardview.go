package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
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
	members := b.members()
	if room > len(members)+1 {
		lines = append(lines, "")
		room--
	}
	shown := b.memberLines(s, width, room)
	lines = append(lines, shown...)
	room -= len(shown)
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
	count, run := b.state.TaskCounts(), b.state.Run()
	parts := []string{"covey: " + b.team, fmt.Sprintf("%d of %d tasks done", count.Completed, count.Total())}
	if run.Refusals > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", run.Refusals))
	}
	started := run.Started
	if started.IsZero() {
		started = b.started
	}
	parts = append(parts, term.Elapsed(now.Sub(started)))
	if w := b.state.Waits; w != nil {
		parts = append(parts, "waits until "+notation.ShortTime(w.Until.Local(), w.Since.Local()))
	}
	if run.Reason != "" {
		parts = append(parts, "ended: "+term.Short(run.Reason))
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
// but the count fits. The name column is as wide as the longest name shown, but not wider
// than a quarter of the terminal, so that a long name does not cut off the state. A member that needs or
// waits for something may take more lines, as long as half of the room is left for the news.
func (b *board) memberLines(s *term.Screen, width, room int) []string {
	if room <= 0 {
		return nil
	}
	all, graph := b.members(), b.state.Graph()
	show := all
	if len(show) > room {
		show = show[:room-1]
	}
	names := 0
	for _, m := range show {
		names = max(names, len([]rune(term.PlainLine(m.Name))))
	}
	names = min(names, max(width/4, term.MinColumn))
	var lines []string
	spare := room/2 - len(show)
	for _, m := range show {
		name := term.Padded(term.Fit(term.PlainLine(m.Name), names), names)
		word, style := MemberWord(m)
		state := s.Paint(style, term.Padded(word, len(api.NeedsAttention)))
		head, rows := "  "+name+"  "+state+"  ", []string{b.details(m, graph)}
		indent := ansi.StringWidth(head)
		if forPeople(style) && width-indent >= 20 {
			rows = term.Rows(rows[0], width-indent, min(mostRows, 1+max(0, spare)))
			spare -= len(rows) - 1
		}
		for _, row := range rows {
			lines = append(lines, term.Fit(head+row, width))
			head = strings.Repeat(" ", indent)
		}
	}
	if more := len(all) - len(show); more > 0 {
		lines = append(lines, s.Paint(term.Faint, term.Fit(fmt.Sprintf("  and %d more; covey ps lists them", more), width)))
	}
	return lines
}

// details describes what a member is at: its task, its refusals, what it does. Of several
// tasks in progress it names the first.
func (b *board) details(m *view.Member, graph []tasks.Outline) string {
	var parts []string
	if len(m.InProgress) > 0 {
		parts = append(parts, "task "+m.InProgress[0])
	}
	if m.Done.Refusals > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", m.Done.Refusals))
	}
	if part, ok := m.Done.Context.Percent(); ok && part >= nearlyFull {
		parts = append(parts, fmt.Sprintf("context %d%% full", part))
	}
	if what := b.what(m, graph); what != "" {
		parts = append(parts, what)
	}
	return strings.Join(parts, " · ")
}

// mostRows is how many rows a text may take that asks a person for something or warns of it.
const mostRows = 4

// newsLines returns the tail of the news below an empty line. An entry takes one line, and one for
// people up to a quarter of the room, before older news; logs and attach show the rest. room
// includes the empty line and must be at least 1.
func (b *board) newsLines(s *term.Screen, width, room int) []string {
	free, most := room-1, max(1, min(mostRows, (room-1)/mostRows))
	var parts [][]string
	for i := len(b.news) - 1; i >= 0 && free > 0; i-- {
		lines := newsRows(s, b.news[i], width, min(most, free))
		parts = append(parts, lines)
		free -= len(lines)
	}
	slices.Reverse(parts)
	return append([]string{""}, slices.Concat(parts...)...)
}

// newsRows lays an entry out in at most most lines of at most width columns.
func newsRows(s *term.Screen, e Entry, width, most int) []string {
	head := ansi.StringWidth(entryLines(s, Entry{Time: e.Time, Who: e.Who}, 0)[0])
	if room := width - head; forPeople(e.Style) && room >= 20 {
		e.Text = strings.Join(term.Rows(e.Text, room, most), "\n")
	}
	lines := entryLines(s, e, 0)
	for i := range lines {
		lines[i] = term.Fit(lines[i], width)
	}
	return lines
}
