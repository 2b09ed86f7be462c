package main

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// nameColumn is how wide the column of names is; longer names shift their line.
const nameColumn = 10

// entryLines lays an entry out: time and name, then its text, whose later lines
// stand below its first. Each line is at most width columns wide, as far as the
// time and the name leave room; width 0 wraps nothing.
func (s *screen) entryLines(e entry, width int) []string {
	head := e.at.Local().Format("15:04:05") + " " + padded(e.who, nameColumn) + " "
	indent := ansi.StringWidth(head)
	room := width - indent
	if width > 0 && room < 20 { // too narrow for columns: no head but the name
		head, indent = e.who+": ", 0
		room = max(width, 1)
		e.text, head = head+e.text, ""
	}
	var lines []string
	for i, text := range strings.Split(e.text, "\n") {
		for j, part := range wrapped(text, width, room) {
			before := strings.Repeat(" ", indent)
			if i == 0 && j == 0 {
				before = s.paint(faint, head)
			}
			if width > 0 {
				part = fit(part, room) // a wide character may not fit where one column is left
			}
			lines = append(lines, before+s.paint(e.style, part))
		}
	}
	return lines
}

// wrapped breaks one line of plain text into lines of room columns; width 0
// breaks nothing. Tabs become blanks, as nobody knows how wide they are. A
// quoted line keeps its bar on every part: without it, the rest of a long line
// would look like covey's own words.
func wrapped(text string, width, room int) []string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if width == 0 || ansi.StringWidth(text) <= room {
		return []string{text}
	}
	if rest, ok := strings.CutPrefix(text, quoteBar); ok && room > 4 {
		lines := wrapped(rest, width, room-2)
		for i := range lines {
			lines[i] = quoteBar + lines[i]
		}
		return lines
	}
	return strings.Split(ansi.Hardwrap(ansi.Wrap(text, room, ""), room, true), "\n")
}

// padded fills text up with blanks to width columns. Text that is wider stays
// as it is; fit cuts it where that matters.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// printEntry prints an entry, whole. It fails when nobody reads any more.
func (s *screen) printEntry(e entry) error {
	_, err := fmt.Fprintf(s.w, "%s\n", strings.Join(s.entryLines(e, 0), "\n"))
	return err
}
