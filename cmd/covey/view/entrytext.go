package view

import (
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// Entry is a line of the journal as text, for readers that lay it out themselves. Its texts are
// plain.
type Entry struct {
	Time  time.Time
	Who   string
	Text  string
	Style term.Style
}

// EntryOf describes a line in full; false: the line has no meaning for people.
func EntryOf(l journal.Line) (Entry, bool) {
	e, ok := Full(l)
	return Entry{Time: e.at, Who: e.who, Text: e.text, Style: e.style}, ok
}
