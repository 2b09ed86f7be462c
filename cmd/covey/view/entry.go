package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
)

// nameColumn is the width of the column of names; longer names shift their line.
const nameColumn = 10

// Lines lays an entry out: time and name, then its text, whose further lines are
// indented. Each line is at most width columns wide, as far as time and name leave
// room; width 0 wraps nothing.
func Lines(s *term.Screen, e Entry, width int) []string {
	at := noTime
	if !e.Time.IsZero() {
		at = e.Time.Local().Format(time.TimeOnly)
	}
	head := at + " " + term.Padded(e.Who, nameColumn) + " "
	indent := ansi.StringWidth(head)
	room := width - indent
	if width > 0 && room < 20 { // too narrow for columns: no head but the name
		head, indent = e.Who+": ", 0
		room = max(width, 1)
		e.Text, head = head+e.Text, ""
	}
	var lines []string
	for i, text := range strings.Split(e.Text, "\n") {
		for j, part := range term.Wrapped(text, width, room) {
			before := strings.Repeat(" ", indent)
			if i == 0 && j == 0 {
				before = s.Paint(term.Faint, head)
			}
			if width > 0 {
				part = term.Fit(part, room) // a wide character may not fit into the last column
			}
			lines = append(lines, before+s.Paint(e.Style, part))
		}
	}
	return lines
}

// printEntry prints a whole entry. It fails if the output is closed.
func printEntry(s *term.Screen, e Entry) error {
	e.Text = s.Masked(e.Text)
	_, err := fmt.Fprintf(s.Writer, "%s\n", strings.Join(Lines(s, e, 0), "\n"))
	return err
}

// LinePrinter returns a function that prints lines of the journal as JSON or as text.
// JSON is one object a line, complete and as in the journal but for secrets; text omits
// lines without meaning for people.
func LinePrinter(out *term.Screen, asJSON bool) func(events.Line) error {
	return func(l events.Line) error {
		if asJSON {
			if out.Mask != nil {
				texts.MaskAll(&l, out.Mask)
			}
			text, err := term.CompactJSON(l)
			if err != nil {
				return err
			}
			_, err = out.Writer.Write(text)
			return err
		}
		e, ok := Full(l.Event())
		if !ok {
			return nil
		}
		return printEntry(out, e)
	}
}

// News describes a noteworthy event in one line of plain text, with whom it is
// about; empty: it is not noteworthy.
func News(event events.Event) string {
	e, ok := brief(event)
	if !ok {
		return ""
	}
	return e.Who + ": " + e.Text
}

// BriefPrinter returns a function that prints the noteworthy lines of the journal. It
// fails if the output is closed.
func BriefPrinter(out *term.Screen) func(events.Line) error {
	return func(l events.Line) error {
		event := l.Event()
		e, ok := brief(event)
		if !ok {
			return nil
		}
		if end, ok := event.Data.(events.TeamEnded); ok && end.Fault != "" {
			e.Text = "the team ends [" + end.Fault + "]" // the report of the run begins with the reason
		}
		return printEntry(out, e)
	}
}

// noTime stands where a journal line has its time, because a draft may never have one.
const noTime = "writing…"

// DraftOf returns a draft as an entry like that of the text which takes its place, but faint
// and without a time. ok is false if there is nothing to read yet.
func DraftOf(d members.Draft) (e Entry, ok bool) {
	text := strings.TrimSpace(term.Plain(d.Text))
	if text == "" {
		return Entry{}, false
	}
	if d.Cut {
		text = "…" + text
	}
	return Entry{Who: term.PlainLine(d.Member), Text: named(events.Event{Helper: d.Helper}, text), Style: term.Faint}, true
}
