package board

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// key handles a key. What it does depends on where the person is: typing, reading the help, or on
// the board.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	m.keyed = true
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.typing != nil:
		return m.typeKey(k)
	case m.help:
		m.help = false // any key leads out of it
		return nil
	}
	m.notice = ""
	if m.moves(name) {
		m.follow()
		return nil
	}
	switch name {
	case "q", "ctrl+d":
		return tea.Quit
	case "?":
		m.help = true
	case "esc":
		m.out()
	case "/":
		m.typing = &typing{label: "only what contains: ", filter: true}
		m.line.Set(m.filter())
	default:
		return m.verb(name)
	}
	return nil
}

// out goes one step out: of the whole pane, of the filter, of what was scrolled up.
func (m *model) out() {
	switch {
	case m.whole:
		m.whole = false
	case m.filter() != "":
		m.search("")
	case m.log.Up():
		m.log.Key("ctrl+end")
	case m.focus == logOf:
		m.focus = m.from
	default:
		m.say("q leaves the board; the team goes on", false)
	}
}

// moves moves the focus, the chosen row or the log. It reports whether the key is one for that.
func (m *model) moves(name string) bool {
	switch name {
	case "tab", "right":
		m.turn(1)
	case "shift+tab", "left":
		m.turn(-1)
	case "1", "2", "3", "4":
		m.turn(int(name[0]-'1') - int(m.focus))
	case "enter":
		m.whole, m.reader.below = !m.whole, 0
		m.whole = m.whole && (!m.readsText() || m.about() != "")
	case "pgup", "pgdown", "shift+up", "shift+down", "ctrl+home", "ctrl+end":
		m.scroll(name)
	case "up", "k":
		m.step(-1, "shift+up")
	case "down", "j":
		m.step(1, "shift+down")
	case "home", "g":
		m.step(-len(m.chosenList().rows), "ctrl+home")
	case "end", "G":
		m.step(len(m.chosenList().rows), "ctrl+end")
	default:
		return false
	}
	return true
}

// turn moves the focus by a number of panes.
func (m *model) turn(by int) {
	m.focus = pane((int(m.focus) + by + panes) % panes)
	m.whole = false
	if m.focus != logOf {
		m.from = m.focus
	}
}

// chosenList returns the list that the chosen row is in.
func (m *model) chosenList() *list { return &m.lists[m.from] }

// step moves the chosen row, or scrolls with a key if a text or the log has the focus.
func (m *model) step(by int, key string) {
	if m.focus == logOf || m.whole {
		m.scroll(key)
		return
	}
	l := m.chosenList()
	l.choose(l.at + by)
}

// scroll scrolls the log, or the text that fills the board.
func (m *model) scroll(key string) {
	if !m.readsText() {
		m.log.Key(key)
		return
	}
	m.reader.key(key, m.height-footer-2)
}

// readsText reports whether the text about the chosen row fills the board.
func (m *model) readsText() bool { return m.whole && (m.focus == needs || m.focus == tasksOf) }

// readsLog reports whether the log is what keys scroll and filter.
func (m *model) readsLog() bool { return m.focus == logOf || m.whole && !m.readsText() }

// filter returns the filter of the focused pane.
func (m *model) filter() string {
	if m.readsLog() {
		return m.logFilter
	}
	return m.lists[m.focus].filter
}

// search sets the filter of the focused pane.
func (m *model) search(text string) {
	if m.readsLog() {
		m.logFilter = text
	} else {
		m.lists[m.focus].search(text)
	}
	m.follow()
}

// verb does what a key does with the chosen row, or asks about it first.
func (m *model) verb(name string) tea.Cmd {
	known := false
	for _, d := range deeds {
		if d.key != name {
			continue
		}
		known = true
		r := m.chosen()
		switch {
		case !m.scene.runs:
			m.say(readOnly, true)
			return nil
		case !d.can(r):
		case d.ask == "":
			return m.start(d.act(r))
		default:
			a := d.act(r)
			m.typing = &typing{label: d.question(a, r), deed: d, act: a}
			m.line.Set("")
			return nil
		}
	}
	if known {
		m.say("there is nothing to "+strings.ToLower(string(verbOf(name)))+" here", true)
	}
	return nil
}

// verbOf returns the verb of a key.
func verbOf(key string) Verb {
	for _, d := range deeds {
		if d.key == key {
			return d.verb
		}
	}
	return ""
}

// typeKey handles a key while somebody types.
func (m *model) typeKey(k tea.KeyPressMsg) tea.Cmd {
	t := m.typing
	switch name := k.String(); {
	case name == "esc":
		m.typing = nil
		if t.filter {
			m.search("")
		}
		return nil
	case name == "enter":
		return m.enter(t)
	case !t.takesText():
		return nil
	case name == "up", name == "ctrl+p":
		m.line.Recall(-1)
	case name == "down", name == "ctrl+n":
		m.line.Recall(1)
	default:
		m.line.Key(k)
	}
	m.typed()
	return nil
}

// typed handles that the typed text has changed: a filter works at once.
func (m *model) typed() {
	if m.typing.filter {
		m.search(term.PlainLine(m.line.Text()))
	}
}

// enter ends typing and does what it was for.
func (m *model) enter(t *typing) tea.Cmd {
	if t.filter {
		m.typing = nil
		return nil
	}
	if t.deed.typed == needed && strings.TrimSpace(m.line.Text()) == "" {
		return nil // people also press Enter to see whether anything is alive
	}
	m.typing = nil
	t.act.Text = m.line.Submit()
	return m.start(t.act)
}
