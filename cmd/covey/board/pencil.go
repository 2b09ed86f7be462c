package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// pencil draws lists and hints. It knows the moment, for ages, and nothing else of the board.
type pencil struct {
	screen *term.Screen
	now    time.Time
}

// title draws the line above a pane: a double line above the one that has the focus, so that it
// is seen without colours, too.
func (p pencil) title(focused bool, text string, style term.Style, width int) string {
	bar := "─"
	if focused {
		bar = "═"
		if style == term.Faint {
			style = term.Bold
		}
	}
	text = term.Fit(bar+" "+text+" ", width)
	return p.screen.Paint(style, text) +
		p.screen.Paint(term.Faint, strings.Repeat(bar, max(0, width-ansi.StringWidth(text))))
}

// titleOf names a list, how long it is and its filter.
func titleOf(which pane, l *list) (string, term.Style) {
	style, n := term.Faint, len(l.rows)
	text := fmt.Sprintf("%d %s", which+1, map[pane]string{needs: "Needs you", membersOf: "Members", tasksOf: "Tasks"}[which])
	switch {
	case which == membersOf:
		n = max(0, n-1) // one is the whole team
	case which == needs && n == 0:
		return "1 Nothing needs you", style
	case which == needs:
		style = term.Yellow
	}
	if l.filter != "" {
		return fmt.Sprintf("%s: %d of %d contain %q", text, len(l.shown()), len(l.rows), l.filter), style
	}
	return fmt.Sprintf("%s (%d)", text, n), style
}

// list draws the title of a list and those of its rows around the chosen one that fit into a size of
// columns and rows.
func (p pencil) list(which pane, l *list, focused bool, size [2]int) []string {
	width, height := size[0], max(size[1], 0)
	title, style := titleOf(which, l)
	rows := l.shown()
	from := max(0, min(l.at-height/2, len(rows)-height))
	if len(rows) > height && height > 0 {
		title += fmt.Sprintf(" · %d to %d", from+1, from+height)
	}
	lines := []string{p.title(focused, title, style, width)}
	rows = rows[from:min(len(rows), from+height)]
	var c columns
	for _, r := range rows {
		c.name = max(c.name, ansi.StringWidth(r.name))
		c.word = max(c.word, ansi.StringWidth(p.word(r)))
		c.who = max(c.who, ansi.StringWidth(r.who))
	}
	c.name, c.word = min(c.name, max(width/5, term.MinColumn)), min(c.word, max(width*2/5, term.MinColumn))
	c.who = min(c.who, max(width/6, term.MinColumn))
	picking := slices.ContainsFunc(l.rows, func(r row) bool { return r.picked })
	for i, r := range rows {
		mark := " "
		switch {
		case from+i == l.at && focused:
			mark = ">"
		case from+i == l.at:
			mark = "·"
		}
		line := mark + " "
		if picking {
			line += map[bool]string{true: "x ", false: "  "}[r.picked]
		}
		line += p.row(r, c, mark == ">")
		text := r.text
		if room := width - ansi.StringWidth(line); room >= leastWidth && which == needs && !r.changes {
			text = term.FitMiddle(text, room) // its end says what to do; that of a title does not
		}
		lines = append(lines, term.Fit(line+text, width))
	}
	return lines
}

// columns are the widths of the columns of a list.
type columns struct{ name, word, who int }

// word returns a row's state and for how long it has been so.
func (p pencil) word(r row) string {
	if r.since.IsZero() || r.word == "" {
		return r.word
	}
	return r.word + " " + term.Elapsed(p.now.Sub(r.since))
}

// row draws a row but for its text. Its state is coloured, and its name is bold if it is what keys act on.
func (p pencil) row(r row, c columns, isChosen bool) string {
	style := term.Normal
	if isChosen {
		style = term.Bold
	}
	column := func(text string, width int) string { return term.Padded(term.Fit(text, width), width) }
	line := p.screen.Paint(style, column(r.name, c.name)) + "  " + p.screen.Paint(r.style,
		column(p.word(r), c.word)) + "  "
	if c.who > 0 {
		line += column(r.who, c.who) + "  "
	}
	if r.silent != "" {
		line += r.silent + "  "
	}
	return line
}
