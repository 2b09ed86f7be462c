package web

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Bounds of logs.
const (
	shownLines = 200
	keptLines  = 1_000  // in an open page; page.js takes the oldest out
	maxText    = 20_000 // bytes of one line of a log; the rest is in `covey logs`
)

// logLine is a line of the journal for people.
type logLine struct {
	Seq   uint64
	Time  time.Time
	Who   string
	Class string
	Text  string
	Long  bool // Text is cut
}

// lineOf returns an event for people; false: it has no meaning for them.
func lineOf(event events.Event) (logLine, bool) {
	e, ok := termview.Full(event)
	if !ok {
		return logLine{}, false
	}
	one := logLine{Seq: event.Seq, Time: e.Time, Who: e.Who, Text: e.Text, Class: map[term.Style]string{
		term.Bold: "call", term.Faint: "quiet", term.Red: "bad", term.Green: "good", term.Yellow: "wait", term.Cyan: "turnline",
	}[e.Style]}
	if len(one.Text) > maxText {
		one.Text, one.Long = strings.ToValidUTF8(one.Text[:maxText], ""), true
	}
	return one, true
}

// log is a part of the journal that was chosen, the newest line last.
type log struct {
	Lines []logLine
	Older string // where older lines are; empty: there are none
	Last  uint64 // number of the last line that was read
}

// maxUpdate bounds the lines of a log that one event adds, in bytes.
const maxUpdate = 1 << 20

// linesBetween draws the lines after a number that somebody wants to see, up to another number, as
// HTML. It returns the number of the last line that it has read, and whether there may be more now.
func (p *Page) linesBetween(after, upTo uint64, wants func(events.Event) bool) (html string, last uint64, more bool, err error) {
	var lines strings.Builder
	last = after
	for l, err := range state.JournalRange(p.place.Journal(), after+1, upTo) {
		var damaged *state.LineError
		if errors.As(err, &damaged) {
			continue
		}
		if err != nil {
			break // the file was replaced: the page is drawn anew
		}
		last = l.Seq
		e := l.Event()
		one, ok := lineOf(e)
		if !ok || !wants(e) {
			continue
		}
		html, err := p.board.execute("logline", one)
		if err != nil {
			return "", after, false, err
		}
		lines.WriteString(string(html))
		if lines.Len() > maxUpdate {
			return lines.String(), last, true, nil
		}
	}
	return lines.String(), last, false, nil
}

// tail reads the last lines before a number that somebody wants to see; 0 is the end.
func (p *Page) tail(before uint64, wants func(events.Event) bool) (log, error) {
	var found log
	for l, err := range state.JournalBackwards(p.place.Journal(), before) {
		if err != nil {
			return log{}, err
		}
		found.Last = max(found.Last, l.Seq)
		e := l.Event()
		if !wants(e) {
			continue
		}
		if len(found.Lines) == shownLines {
			found.Older = fmt.Sprintf("?before=%d", found.Lines[len(found.Lines)-1].Seq)
			break
		}
		if one, ok := lineOf(e); ok {
			found.Lines = append(found.Lines, one)
		}
	}
	slices.Reverse(found.Lines)
	return found, nil
}
