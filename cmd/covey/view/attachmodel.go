package view

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// maxScroll is how many entries a pager keeps; older ones are read again from
// the journal when somebody scrolls up to them.
const maxScroll = 5000

// pager is the attach view: the entries of the journal, the part of them that
// is on the screen, and the line that is being typed. It is pure: what keys ask
// of the outside comes back as an ask. It keeps entries, not screen lines:
// those depend on the width, which changes.
type pager struct {
	screen  *term.Screen
	title   string
	width   int
	height  int
	entries []*told // oldest first; only lines that tell something
	below   int     // lines between the screen's bottom and the end; 0: follows
	line    typing
	keys    int    // how many keys were pressed
	notice  string // the answer to what was typed last
	isBad   bool   // notice is bad news
	top     bool   // there is nothing older than entries
	reading bool   // older lines were asked for and have not come yet
}

// ask is what a key wants done.
type ask struct {
	send  string // text for the member
	older bool   // lines before the oldest entry
	leave bool
	// suspend: the shell gets the terminal until fg brings attach back.
	suspend bool
	// leaveSoon: the key was a q on an empty line. It leaves unless another key
	// follows at once, so that a message may begin with that letter.
	leaveSoon bool
}

// told is a line of the journal in words, and laid out for one width. A person
// who scrolls makes the same entries be drawn again and again, and one of them
// may have been made from a megabyte of JSON.
type told struct {
	seq   uint64
	entry entry
	width int
	lines []string // for that width
}

// tellLine puts a line of the journal into words; nil if it tells nothing.
func tellLine(l journal.Line) *told {
	e, ok := Full(l)
	if !ok {
		return nil
	}
	return &told{seq: l.Seq, entry: cutEntry(e)}
}

// add appends a new line of the journal. Who has scrolled up keeps what is on
// the screen. Old entries are dropped only while the end is on the screen, for
// who has scrolled up is reading them.
func (p *pager) add(l journal.Line) {
	t := tellLine(l)
	if t == nil {
		return
	}
	if p.below > 0 {
		p.below += len(p.linesOf(t))
	}
	p.entries = append(p.entries, t)
	if len(p.entries) > maxScroll+maxScroll/10 && p.below == 0 {
		p.entries = slices.Delete(p.entries, 0, len(p.entries)-maxScroll)
		p.top = false
	}
}

// addOlder puts older lines before all others; none means the top is reached.
// What is on the screen is counted from the end, so it stays where it is.
func (p *pager) addOlder(older []journal.Line) {
	p.reading = false
	p.top = len(older) == 0
	var before []*told
	for _, l := range older {
		if t := tellLine(l); t != nil {
			before = append(before, t)
		}
	}
	p.entries = slices.Insert(p.entries, 0, before...)
}

// oldest is the number of the oldest line that is here; 0: there is none.
func (p *pager) oldest() uint64 {
	if len(p.entries) == 0 {
		return 0
	}
	return p.entries[0].seq
}

// linesOf are a line of the journal as lines of the screen. They are laid out
// again when the width has changed, and only then.
func (p *pager) linesOf(t *told) []string {
	if t.lines == nil || t.width != p.width {
		t.width, t.lines = p.width, entryLines(p.screen, t.entry, p.width)
	}
	return t.lines
}

// quitLine leaves when it is all that is typed. A message of that one letter
// cannot be sent by attach; covey send can send it.
const quitLine = "q"

// maxEntry is how many lines of one entry attach shows. More would push all
// else off the screen, and nobody reads a whole build log here.
const maxEntry = 40

// cutEntry keeps the beginning of a long entry and says where the rest is.
func cutEntry(e entry) entry {
	lines := strings.Split(e.text, "\n")
	if len(lines) <= maxEntry {
		return e
	}
	e.text = strings.Join(lines[:maxEntry], "\n") + "\n│ … the rest: covey logs"
	return e
}

// room is how many lines of the journal fit on the screen: all but the title
// and the typed line, and none of those when it is tiny. On a terminal of one
// line there is news or nothing: what is typed would not be seen anyway.
func (p *pager) room() int {
	switch {
	case p.height >= 5:
		return p.height - 3
	case p.height >= 2:
		return p.height - 1
	}
	return max(p.height, 0)
}

// view draws the pager. It always gives exactly as many lines as the screen
// has, so that nothing of the last drawing is left over.
func (p *pager) view() string {
	if p.width <= 0 || p.height <= 0 {
		return ""
	}
	room := p.room()
	lines := p.window(room)
	for len(lines) < room {
		lines = append(lines, "")
	}
	line, _ := p.line.view(p.width - 2)
	typed := term.Fit("> ", p.width) + line
	switch {
	case p.height >= 5:
		lines = append([]string{p.screen.Paint(term.Bold, term.Fit(p.heading(), p.width))}, lines...)
		lines = append(lines, p.status(), typed)
	case p.height >= 2:
		lines = append(lines, typed)
	}
	return strings.Join(lines, "\n")
}

// heading is the line above the journal.
func (p *pager) heading() string {
	if p.below > 0 {
		return p.title + " · scrolled up; End goes back to the news"
	}
	return p.title
}

// status is the line between the journal and what is typed.
func (p *pager) status() string {
	if p.notice == "" {
		return p.screen.Paint(term.Faint, term.Fit("Enter sends · Up recalls · PgUp scrolls · :help · Ctrl-D or q leaves, not the team", p.width))
	}
	st := term.Green
	if p.isBad {
		st = term.Red
	}
	return p.screen.Paint(st, term.Fit(p.notice, p.width))
}

// window is the part of the journal that is on the screen: the last room lines
// above the bottom, laid out from the end, so that a long history costs
// nothing. It is the one place that knows how many lines there are, and so the
// one that brings below back into range.
func (p *pager) window(room int) []string {
	need := room + p.below
	var parts [][]string
	have := 0
	for i := len(p.entries) - 1; i >= 0 && have < need; i-- {
		lines := p.linesOf(p.entries[i])
		parts = append(parts, lines)
		have += len(lines)
	}
	slices.Reverse(parts)
	lines := slices.Concat(parts...)
	p.below = max(0, min(p.below, len(lines)-room)) // no further than the top
	end := len(lines) - p.below
	return slices.Clone(lines[max(0, end-room):end])
}

// atTop tells whether the oldest entry that is here has come onto the screen.
// It stops at the first entry beyond the screen, as laying all of them out
// would cost most where a history is long.
func (p *pager) atTop(room int) bool {
	have := 0
	for i := len(p.entries) - 1; i >= 0; i-- {
		have += len(p.linesOf(p.entries[i]))
		if have > p.below+room {
			return false
		}
	}
	return true
}

// key does what a key asks for. Keys that do nothing here edit the typed line.
func (p *pager) key(k tea.KeyPressMsg) ask {
	p.keys++
	before := p.line.text()
	switch name := k.String(); name {
	case "ctrl+c":
		return ask{leave: true}
	case "ctrl+z":
		return ask{suspend: true}
	case "enter":
		return p.enter()
	case "pgup", "pgdown", "shift+up", "shift+down", "ctrl+home", "ctrl+end":
		return p.scroll(name)
	case "up", "ctrl+p":
		p.line.recall(-1)
		return ask{}
	case "down", "ctrl+n":
		p.line.recall(1)
		return ask{}
	case "home", "end": // of the line, if there is one
		if before == "" || name == "end" && p.below > 0 {
			return p.scroll("ctrl+" + name)
		}
	case "ctrl+d": // as in a shell: it deletes where there is something
		if before == "" {
			return ask{leave: true}
		}
	}
	p.line.key(k)
	return ask{leaveSoon: before == "" && p.line.text() == quitLine}
}

// enter sends what is typed, if it says anything. Empty lines are not sent:
// Enter is also what people press to see whether anything is alive.
func (p *pager) enter() ask {
	text := p.line.take()
	if text == quitLine {
		return ask{leave: true}
	}
	return ask{send: text}
}

// scroll moves the screen over the journal and asks for older lines when it has
// come to the top of those that are here. The position may be out of range
// here; window, which has to lay the lines out anyway, brings it back.
func (p *pager) scroll(key string) ask {
	room := p.room()
	switch key {
	case "pgup":
		p.below += max(1, room-1)
	case "shift+up":
		p.below++
	case "pgdown":
		p.below = max(0, p.below-max(1, room-1))
	case "shift+down":
		p.below = max(0, p.below-1)
	case "ctrl+home":
		p.below += 1 << 20
	case "ctrl+end":
		p.below = 0
	}
	if p.top || p.reading || p.below == 0 || !p.atTop(room) {
		return ask{}
	}
	p.reading = true
	return ask{older: true}
}

// say shows a notice below the journal. It stays until the next one: a person
// may look away for a while.
func (p *pager) say(text string, bad bool) {
	p.notice, p.isBad = term.Short(text), bad
}

// answer shows what became of a typed line. One that was not sent comes back,
// to be tried again, unless something else is typed by now.
func (p *pager) answer(text, unsent string) {
	p.say(text, unsent != "")
	if unsent != "" && p.line.text() == "" {
		p.line.set(unsent)
	}
}
