package view

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// pager is the attach view: a Log and the typed line below it. It is pure: actions that
// need the outside are returned as an action.
type pager struct {
	screen  *term.Screen
	title   string
	width   int
	height  int
	log     *Log
	line    InputLine
	keys    int    // how many keys were pressed
	notice  string // the answer to what was typed last
	isBad   bool   // notice is an error
	top     bool   // there is nothing older than what log has
	reading bool   // older lines were asked for and have not come yet
}

// newPager returns a pager with these rows.
func newPager(s *term.Screen, title string, rows []*Row) *pager {
	p := &pager{screen: s, title: title, log: NewLog(s), line: NewInputLine()}
	for _, r := range rows {
		p.add(r)
	}
	return p
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

// add appends a row. Rows that the log has dropped for it can be read again.
func (p *pager) add(r *Row) {
	if p.log.Add(r) {
		p.top = false
	}
}

// addOlder inserts older rows before all others; an empty list means that the top is
// reached.
func (p *pager) addOlder(older []*Row) {
	p.reading, p.top = false, len(older) == 0
	p.log.AddOlder(older)
}

// quitLine leaves attach if it is the whole typed line. covey send can send a message
// of that one letter.
const quitLine = "q"

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
	lines := p.log.View(p.width, room)
	for len(lines) < room {
		lines = append(lines, "")
	}
	line, _ := p.line.View(p.width - 2)
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
	if p.log.Up() {
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

// key handles a key. Keys without a function here edit the typed line.
func (p *pager) key(k tea.KeyPressMsg) action {
	p.keys++
	before := p.line.Text()
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
		p.line.Recall(-1)
		return action{}
	case "down", "ctrl+n":
		p.line.Recall(1)
		return action{}
	case "home", "end": // of the line, if there is one
		if before == "" || name == "end" && p.log.Up() {
			return p.scroll("ctrl+" + name)
		}
	case "ctrl+d": // as in a shell: with text in the line it deletes
		if before == "" {
			return action{leave: true}
		}
	}
	p.line.Key(k)
	return action{leaveSoon: before == "" && p.line.Text() == quitLine}
}

// enter sends the typed line unless it is empty: people also press Enter to see
// whether anything is alive.
func (p *pager) enter() action {
	text := p.line.Submit()
	if text == quitLine {
		return action{leave: true}
	}
	return action{send: text}
}

// scroll moves the screen over the journal and requests older lines at the top.
func (p *pager) scroll(key string) action {
	p.log.fit(p.width, p.room())
	if !p.log.Key(key) || p.top || p.reading || !p.log.atTop() {
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
	if unsent != "" && p.line.Text() == "" {
		p.line.Set(unsent)
	}
}
