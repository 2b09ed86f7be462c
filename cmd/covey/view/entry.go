package view

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// nameColumn is how wide the column of names is; longer names shift their line.
const nameColumn = 10

// entryLines lays an entry out: time and name, then its text, whose later lines
// stand below its first. Each line is at most width columns wide, as far as the
// time and the name leave room; width 0 wraps nothing.
func entryLines(s *term.Screen, e entry, width int) []string {
	head := e.at.Local().Format("15:04:05") + " " + term.Padded(e.who, nameColumn) + " "
	indent := ansi.StringWidth(head)
	room := width - indent
	if width > 0 && room < 20 { // too narrow for columns: no head but the name
		head, indent = e.who+": ", 0
		room = max(width, 1)
		e.text, head = head+e.text, ""
	}
	var lines []string
	for i, text := range strings.Split(e.text, "\n") {
		for j, part := range term.Wrapped(text, width, room) {
			before := strings.Repeat(" ", indent)
			if i == 0 && j == 0 {
				before = s.Paint(term.Faint, head)
			}
			if width > 0 {
				part = term.Fit(part, room) // a wide character may not fit where one column is left
			}
			lines = append(lines, before+s.Paint(e.style, part))
		}
	}
	return lines
}

// printEntry prints an entry, whole. It fails when nobody reads any more.
func printEntry(s *term.Screen, e entry) error {
	_, err := fmt.Fprintf(s.Writer, "%s\n", strings.Join(entryLines(s, e, 0), "\n"))
	return err
}

// LinePrinter prints lines of the journal as they are, or in words. JSON is one
// object a line, as the journal has it, and complete; words leave out what
// tells a person nothing.
func LinePrinter(out *term.Screen, asJSON bool) func(journal.Line) error {
	return func(l journal.Line) error {
		if asJSON {
			text, err := term.CompactJSON(l)
			if err != nil {
				return err
			}
			_, err = out.Writer.Write(text)
			return err
		}
		e, ok := Full(l)
		if !ok {
			return nil
		}
		return printEntry(out, e)
	}
}

// BriefPrinter prints what is noteworthy about lines of the journal. Its error means that
// nobody reads any more.
func BriefPrinter(out *term.Screen) func(journal.Line) error {
	return func(l journal.Line) error {
		e, ok := brief(l)
		if !ok {
			return nil
		}
		return printEntry(out, e)
	}
}
