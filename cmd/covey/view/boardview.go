package view

import (
	"fmt"
	"strings"
	"time"

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
	lines = append(lines, b.memberLines(s, width, room)...)
	room -= min(room, len(members))
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
// than a quarter of the terminal, so that a long name does not cut off the state.
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
	for _, m := range show {
		name := term.Padded(term.Fit(term.PlainLine(m.Name), names), names)
		word, style := MemberWord(m)
		state := s.Paint(style, term.Padded(word, len(api.NeedsAttention)))
		lines = append(lines, term.Fit("  "+name+"  "+state+"  "+b.details(m, graph), width))
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

// newsLines returns the tail of the news below an empty line. Each entry takes one
// line; logs and attach show the rest. room includes the empty line and must be at
// least 1.
func (b *board) newsLines(s *term.Screen, width, room int) []string {
	lines := []string{""}
	from := max(0, len(b.news)-(room-1))
	for _, e := range b.news[from:] {
		text := entryLines(s, Entry{Time: e.Time, Who: e.Who, Text: e.Text, Style: e.Style}, 0)[0]
		lines = append(lines, term.Fit(text, width))
	}
	return lines
}
