package view

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// maxScroll is how many entries a pager keeps; older ones are read again from the
// journal when the operator scrolls up to them.
const maxScroll = 5000

// pager is the attach view: the entries of the journal, the part of them that is on
// the screen, and the typed line. It is pure: actions that need the outside are
// returned as an action. It keeps entries rather than screen lines, which depend on
// the width.
type pager struct {
	screen  *term.Screen
	title   string
	width   int
	height  int
	entries []*shownEntry // oldest first; only lines with a text
	below   int           // lines between the screen's bottom and the end; 0: follows
	line    inputLine
	keys    int    // how many keys were pressed
	notice  string // the answer to what was typed last
	isBad   bool   // notice is an error
	top     bool   // there is nothing older than entries
	reading bool   // older lines were asked for and have not come yet
	drafts  []shownDraft
	said    map[author]uint64 // the last line of the journal with a text of each
}

// action is what a key requests.
type action struct {
	send  string // text for the member
	older bool   // lines before the oldest entry
	leave bool
	// suspend: the shell gets the terminal until fg brings attach back.
	suspend bool
	// leaveSoon: the key was a q on an empty line. It leaves unless another key
	// follows at once, so that a message may begin with that letter.
	leaveSoon bool
}

// shownEntry is the text of a journal line, laid out for one width. The layout is
// cached, because scrolling draws the same entries again and again, and an entry may
// come from a megabyte of JSON.
type shownEntry struct {
	seq   uint64
	entry entry
	width int
	lines []string // the layout for width
}

// newShownEntry returns the entry of a journal line; nil if it has no text.
func newShownEntry(l journal.Line) *shownEntry {
	e, ok := Full(l)
	if !ok {
		return nil
	}
	return &shownEntry{seq: l.Seq, entry: cutEntry(e)}
}

// add appends a new line of the journal. If the operator has scrolled up, the screen
// does not change, and no old entries are dropped.
func (p *pager) add(l journal.Line) {
	p.endDraft(l)
	t := newShownEntry(l)
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

// addOlder inserts older lines before all others; an empty list means that the top is
// reached. The position counts from the end, so the screen does not change.
func (p *pager) addOlder(older []journal.Line) {
	p.reading = false
	p.top = len(older) == 0
	var before []*shownEntry
	for _, l := range older {
		if t := newShownEntry(l); t != nil {
			before = append(before, t)
		}
	}
	p.entries = slices.Insert(p.entries, 0, before...)
}

// oldest returns the number of the oldest line; 0: there is none.
func (p *pager) oldest() uint64 {
	if len(p.entries) == 0 {
		return 0
	}
	return p.entries[0].seq
}

// linesOf returns an entry as lines of the screen. It lays them out again only if the
// width has changed.
func (p *pager) linesOf(t *shownEntry) []string {
	if t.lines == nil || t.width != p.width {
		t.width, t.lines = p.width, entryLines(p.screen, t.entry, p.width)
	}
	return t.lines
}

// quitLine leaves attach if it is the whole typed line. covey send can send a message
// of that one letter.
const quitLine = "q"

// maxEntry is how many lines of an entry attach shows. More would push everything
// else off the screen.
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

// room returns how many lines of the journal fit on the screen: all but the title,
// the status and the typed line, which a tiny screen omits.
func (p *pager) room() int {
	switch {
	case p.height >= 5:
		return p.height - 3
	case p.height >= 2:
		return p.height - 1
	}
	return max(p.height, 0)
}

// view draws the pager. It always returns as many lines as the screen has, so that
// nothing of the previous drawing remains.
func (p *pager) view() string {
	if p.width <= 0 || p.height <= 0 {
		return ""
	}
	room := p.room()
	lines := p.window(room)
	if drafts := p.draftLines(room); len(drafts) > 0 {
		lines = append(p.window(room-len(drafts)), drafts...)
	}
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

// heading returns the line above the journal.
func (p *pager) heading() string {
	if p.below > 0 {
		return p.title + " · scrolled up; press End for the newest lines"
	}
	return p.title
}

// status returns the line between the journal and the typed line.
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

// window returns the part of the journal that is on the screen. It lays entries out
// from the end, so that a long history costs nothing. It also brings below back into
// range, because only here the number of lines is known.
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

// atTop reports whether the oldest entry is on the screen. It stops at the first
// entry beyond the screen, because laying out a long history would be slow.
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

// key handles a key. Keys without a function here edit the typed line.
func (p *pager) key(k tea.KeyPressMsg) action {
	p.keys++
	before := p.line.text()
	switch name := k.String(); name {
	case "ctrl+c":
		return action{leave: true}
	case "ctrl+z":
		return action{suspend: true}
	case "enter":
		return p.enter()
	case "pgup", "pgdown", "shift+up", "shift+down", "ctrl+home", "ctrl+end":
		return p.scroll(name)
	case "up", "ctrl+p":
		p.line.recall(-1)
		return action{}
	case "down", "ctrl+n":
		p.line.recall(1)
		return action{}
	case "home", "end": // of the line, if there is one
		if before == "" || name == "end" && p.below > 0 {
			return p.scroll("ctrl+" + name)
		}
	case "ctrl+d": // as in a shell: with text in the line it deletes
		if before == "" {
			return action{leave: true}
		}
	}
	p.line.key(k)
	return action{leaveSoon: before == "" && p.line.text() == quitLine}
}

// enter sends the typed line unless it is empty: people also press Enter to see
// whether anything is alive.
func (p *pager) enter() action {
	text := p.line.submit()
	if text == quitLine {
		return action{leave: true}
	}
	return action{send: text}
}

// scroll moves the screen over the journal and requests older lines at the top. It
// may leave the position out of range; window corrects it.
func (p *pager) scroll(key string) action {
	room := p.room()
	room -= len(p.draftLines(room))
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
		return action{}
	}
	p.reading = true
	return action{older: true}
}

// say shows a notice below the journal. It stays until the next one.
func (p *pager) say(text string, bad bool) {
	p.notice, p.isBad = term.Short(text), bad
}

// answer shows the result of a typed line. A line that was not sent comes back into
// the input, unless something else is typed by now.
func (p *pager) answer(text, unsent string) {
	p.say(text, unsent != "")
	if unsent != "" && p.line.text() == "" {
		p.line.set(unsent)
	}
}
