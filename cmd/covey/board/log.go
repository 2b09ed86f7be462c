package board

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
)

// Bounds of a rowLog. The oldest rows are dropped first.
const (
	maxRows     = 100_000
	maxLogBytes = 64 << 20 // of the texts of all rows
)

// Bounds of one row. More lines would push everything else off the screen, and a longer text
// would be laid out for the part of it that is seen.
const (
	maxRowLines = 40
	maxRowBytes = 16 << 10
)

// logRow is the entry of one line of a journal in a rowLog. Its layout is cached, because scrolling
// draws the same rows again and again.
type logRow struct {
	seq    uint64
	entry  view.Entry
	names  []string // the members that it concerns
	writer author   // whose text it is; zero: it is no text of a model

	width int
	lines []string // the layout for width

	choice int // the choice of the rowLog for which shown holds
	shown  bool
}

// newLogRow returns the row of an event. It may be slow for one of many megabytes, so it is called
// outside of the loop that draws.
func newLogRow(e events.Event) *logRow {
	entry, _ := view.Full(e)
	r := &logRow{seq: e.Seq, entry: cutEntry(entry), names: view.Concerned(e), shown: true}
	if _, ok := e.Data.(events.TextSaid); ok {
		r.writer = author{e.Member, e.Helper}
	}
	return r
}

// masked returns the row with secrets replaced.
func (r *logRow) masked(mask func(string) string) *logRow {
	r.entry.Text = masked(mask, r.entry.Text)
	return r
}

// noteRow returns a row of an entry that is in no journal.
func noteRow(e view.Entry) *logRow { return &logRow{entry: cutEntry(e), shown: true} }

// cutEntry keeps the beginning of a long entry and says where the rest is. It copies what it
// keeps, because the rest may be large.
func cutEntry(e view.Entry) view.Entry {
	text := e.Text
	if len(text) > maxRowBytes {
		text = strings.ToValidUTF8(text[:maxRowBytes], "")
	}
	if lines := strings.SplitN(text, "\n", maxRowLines+1); len(lines) > maxRowLines {
		text = strings.Join(lines[:maxRowLines], "\n")
	}
	if len(text) < len(e.Text) {
		e.Text = strings.Clone(text) + "\n│ … the rest: covey logs"
	}
	return e
}

// rowLog is the end of a journal in a part of a terminal. Somebody may scroll in it, and choose which
// rows are shown. It keeps a bounded number of rows, lays out those that are visible, and counts
// no lines of the others: so a key costs the same in a log of ten rows and of a hundred thousand.
//
// The position is a row, not a number of lines from one end. So neither new rows nor older ones
// nor another width move what somebody reads.
type rowLog struct {
	screen *term.Screen
	rows   []*logRow // oldest first; only those with a text
	bytes  int       // of their texts

	width, room int // the size in which it was drawn last, without the drafts

	up   bool // it does not show the newest row
	last int  // if up: the index of the row at the bottom
	cut  int  // if up: how many lines of it are below the bottom

	choice       int    // grows with each change of the next two
	member, text string // whose rows are shown, and what they contain; empty: all

	drafts []shownDraft
	said   map[author]uint64 // the last line of the journal with a text of each
}

// newLog returns an empty rowLog.
func newLog(s *term.Screen) *rowLog { return &rowLog{screen: s} }

// add appends a row, and drops the oldest ones when there are too many. It reports whether it
// has dropped some.
func (g *rowLog) add(r *logRow) (dropped bool) {
	g.endDraft(r)
	if r.entry.Text == "" {
		return false
	}
	g.rows = append(g.rows, r)
	g.bytes += len(r.entry.Text)
	if len(g.rows) <= maxRows+maxRows/10 && g.bytes <= maxLogBytes+maxLogBytes/10 {
		return false
	}
	gone := 0
	for ; len(g.rows)-gone > maxRows || g.bytes > maxLogBytes; gone++ {
		g.bytes -= len(g.rows[gone].entry.Text)
	}
	g.rows = slices.Delete(g.rows, 0, gone)
	g.last = max(0, g.last-gone)
	return true
}

// addOlder inserts rows before all others. The screen does not change.
func (g *rowLog) addOlder(rows []*logRow) {
	rows = slices.DeleteFunc(rows, func(r *logRow) bool { return r.entry.Text == "" })
	g.rows = slices.Insert(g.rows, 0, rows...)
	g.last += len(rows)
	for _, r := range rows {
		g.bytes += len(r.entry.Text)
	}
}

// clear removes all rows: another journal has begun.
func (g *rowLog) clear() {
	*g = rowLog{screen: g.screen, choice: g.choice, member: g.member, text: g.text}
}

// oldest returns the number of the oldest line; 0: there is none.
func (g *rowLog) oldest() uint64 {
	for _, r := range g.rows {
		if r.seq > 0 {
			return r.seq
		}
	}
	return 0
}

// choose shows the rows that concern a member and contain a text, in upper or lower case; both
// may be empty. It goes to the newest one.
func (g *rowLog) choose(member, text string) {
	text = strings.ToLower(text)
	if member != g.member || text != g.text {
		g.member, g.text, g.up = member, text, false
		g.choice++
	}
}

// shows reports whether a row is among the chosen ones. The answer is kept with the row, because
// many may stand between two that are.
func (g *rowLog) shows(r *logRow) bool {
	if r.choice != g.choice {
		r.choice = g.choice
		r.shown = (g.member == "" || slices.Contains(r.names, g.member)) &&
			(g.text == "" || strings.Contains(strings.ToLower(r.entry.Text), g.text) ||
				strings.Contains(strings.ToLower(r.entry.Who), g.text))
	}
	return r.shown
}

// before returns the index of the nearest chosen row up to i; -1: there is none.
func (g *rowLog) before(i int) int {
	for i >= 0 && !g.shows(g.rows[i]) {
		i--
	}
	return i
}

// after returns the index of the nearest chosen row from i on; the number of rows: there is none.
func (g *rowLog) after(i int) int {
	for i < len(g.rows) && !g.shows(g.rows[i]) {
		i++
	}
	return i
}

// linesOf returns a row as lines of the screen. It lays them out again only if the width has
// changed.
func (g *rowLog) linesOf(i int) []string {
	r := g.rows[i]
	if r.lines == nil || r.width != g.width {
		r.width, r.lines = g.width, view.Lines(g.screen, r.entry, g.width)
	}
	return r.lines
}

// bottom returns the row at the bottom of the screen, -1 if there is none, and how many lines of
// it are below.
func (g *rowLog) bottom() (i, cut int) {
	if !g.up {
		return g.before(len(g.rows) - 1), 0
	}
	i = g.before(min(g.last, len(g.rows)-1))
	if i < 0 {
		return i, 0
	}
	return i, min(g.cut, len(g.linesOf(i))-1) // it may have fewer lines in another width
}

// draw draws the log in width columns and at most height lines: its rows, and the drafts at its end.
func (g *rowLog) draw(width, height int) []string {
	drafts := g.fit(width, height)
	return append(g.window(), drafts...)
}

// fit takes up the size of the log's part of the screen, and returns the lines of the drafts. Rows
// that do not fill the room above them, because it has grown, scroll down.
func (g *rowLog) fit(width, height int) (drafts []string) {
	g.width = max(width, 1)
	drafts = g.draftLines(height)
	g.room = max(height-len(drafts), 0)
	g.fill()
	return drafts
}

// window returns the lines of the rows that are on the screen.
func (g *rowLog) window() []string {
	i, cut := g.bottom()
	var parts [][]string
	for have := 0; i >= 0 && have < g.room+cut; i = g.before(i - 1) {
		parts = append(parts, g.linesOf(i))
		have += len(g.linesOf(i))
	}
	slices.Reverse(parts)
	lines := slices.Concat(parts...)
	end := max(0, len(lines)-cut)
	return lines[max(0, end-g.room):end]
}

// fill scrolls down if the rows above the bottom do not fill the screen.
func (g *rowLog) fill() {
	if g.up && len(g.window()) < g.room {
		g.top()
	}
}

// atTop reports whether the oldest chosen row is on the screen in full.
func (g *rowLog) atTop() bool {
	i, cut := g.bottom()
	have := -cut
	for ; i >= 0; i = g.before(i - 1) {
		if have += len(g.linesOf(i)); have > g.room {
			return false
		}
	}
	return true
}

// top goes to the oldest chosen row.
func (g *rowLog) top() {
	have := 0
	for i := g.after(0); i < len(g.rows); i = g.after(i + 1) {
		if have += len(g.linesOf(i)); have >= g.room {
			g.last, g.cut = i, have-g.room
			g.up = g.cut > 0 || g.after(i+1) < len(g.rows)
			return
		}
	}
	g.up = false // all of them fit
}

// isUp reports whether the newest row is below the screen.
func (g *rowLog) isUp() bool { return g.up }

// scroll moves the screen by a number of lines, up if it is positive.
func (g *rowLog) scroll(lines int) {
	i, cut := g.bottom()
	if i < 0 {
		return
	}
	for cut += lines; cut >= len(g.linesOf(i)); {
		cut -= len(g.linesOf(i))
		if i = g.before(i - 1); i < 0 {
			g.top()
			return
		}
	}
	for cut < 0 {
		if i = g.after(i + 1); i == len(g.rows) {
			g.up = false
			return
		}
		cut += len(g.linesOf(i))
	}
	g.last, g.cut = i, cut
	g.up = cut > 0 || g.after(i+1) < len(g.rows)
	g.fill()
}

// key scrolls by a key, if it is one that does. It reports whether it was one that goes up.
func (g *rowLog) key(name string) (goesUp bool) {
	switch page := max(1, g.room-1); name {
	case "pgup":
		g.scroll(page)
	case "shift+up":
		g.scroll(1)
	case "ctrl+home":
		g.top()
	case "pgdown":
		g.scroll(-page)
		return false
	case "shift+down":
		g.scroll(-1)
		return false
	case "ctrl+end":
		g.up = false
		return false
	}
	return true
}
