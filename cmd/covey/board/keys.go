package board

import (
	"cmp"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
)

// key handles a key. What it does depends on where the person is: typing, reading the help, or on
// the board.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	m.keys++
	switch {
	case name == "ctrl+c" && m.stop != nil:
		m.stop()
		return nil
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
	if step := map[string]int{"n": 1, "p": -1}[name]; step != 0 && m.readsChanges() {
		m.next(step, func(r row) bool { return r.changes })
		return nil
	}
	if scrolls(name) {
		return m.scroll(name)
	}
	if cmd, ok := m.moves(name); ok {
		m.follow()
		return cmd
	}
	switch name {
	case "q", "ctrl+d":
		return m.leave()
	case "?":
		m.help = true
	case "esc":
		m.out()
	case "x":
		m.pick()
	case "/":
		m.typing = &typing{label: "only what contains: ", filter: true}
		m.line.set(m.filter())
	default:
		return m.verb(name)
	}
	return nil
}

// out goes one step out: of the whole pane, of the filter, of what was scrolled up.
func (m *model) out() {
	switch {
	case m.whole:
		m.whole, m.changing = false, false
	case m.pickedRows() != nil:
		m.unpick()
	case m.filter() != "":
		m.search("")
	case m.log.isUp():
		m.log.key("ctrl+end")
	case m.focus == logOf:
		m.focus = m.from
	default:
		m.say(m.wayOut(), false)
	}
}

// wayOut returns how the board is left.
func (m *model) wayOut() string {
	if m.stop != nil {
		return "Ctrl-C stops the team in order, and ends the board with it"
	}
	return "q leaves the board; the team goes on"
}

// leave leaves the board. That of a team that this process runs stays as long as the team.
func (m *model) leave() tea.Cmd {
	if m.stop == nil {
		return tea.Quit
	}
	m.say(m.wayOut(), false)
	return nil
}

// moves moves the focus or the chosen row. It reports whether the key is one for that.
func (m *model) moves(name string) (cmd tea.Cmd, ok bool) {
	switch name {
	case "tab", "right":
		m.turn(1)
	case "shift+tab", "left":
		m.turn(-1)
	case "1", "2", "3", "4":
		m.turn(int(name[0]-'1') - int(m.focus))
	case "enter":
		m.whole, m.reader.below = !m.whole, 0
		m.changing, m.diffOf = m.whole && m.focus == needs && m.chosen().work, ""
		m.whole = m.whole && (!m.readsText() || m.about() != "")
	case "up", "k":
		return m.step(-1, "shift+up"), true
	case "down", "j":
		return m.step(1, "shift+down"), true
	case "home", "g":
		return m.step(-len(m.chosenList().rows), "ctrl+home"), true
	case "end", "G":
		return m.step(len(m.chosenList().rows), "ctrl+end"), true
	default:
		return nil, false
	}
	return nil, true
}

// turn moves the focus by a number of panes.
func (m *model) turn(by int) {
	m.focus = pane((int(m.focus) + by + panes) % panes)
	m.whole, m.changing = false, false
	if m.focus != logOf {
		m.from, m.member = m.focus, ""
	}
}

// next chooses the next row that fits, or the one before. The list goes round, so that whatever was left open comes again.
// It reports whether there is another one.
func (m *model) next(step int, fits func(row) bool) bool {
	l := m.chosenList()
	rows := l.shown()
	for i := 1; i < len(rows); i++ {
		if at := (l.at + (step+len(rows))*i) % len(rows); fits(rows[at]) {
			l.choose(at)
			m.follow()
			return true
		}
	}
	return false
}

// chosenList returns the list that the chosen row is in.
func (m *model) chosenList() *list { return &m.lists[m.from] }

// step moves the chosen row, or scrolls with a key if a text or the log has the focus.
func (m *model) step(by int, key string) tea.Cmd {
	if m.focus == logOf || m.whole {
		return m.scroll(key)
	}
	m.member = ""
	l := m.chosenList()
	l.choose(l.at + by)
	return nil
}

// scrolls reports whether a key scrolls wherever the person is.
func scrolls(name string) bool {
	switch name {
	case "pgup", "pgdown", "shift+up", "shift+down", "ctrl+home", "ctrl+end":
		return true
	}
	return false
}

// scroll scrolls the log, or the text that fills the board. At the top of the log it reads older rows.
func (m *model) scroll(key string) tea.Cmd {
	if m.readsText() {
		m.reader.key(key, m.height-footer-1-len(m.headings()))
		return nil
	}
	if !m.log.key(key) || m.top || m.reading || m.older == nil || !m.log.atTop() {
		return nil
	}
	m.reading = true
	before, member := m.log.oldest(), m.chosen().member
	return func() tea.Msg {
		rows, err := m.older(before, member)
		return olderMsg{rows, err}
	}
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
	if picked := m.pickedRows(); name == "m" && picked != nil && m.scene.runs {
		m.askPicked(picked)
		return nil
	}
	known := Verb("") // of the key
	for _, d := range deeds {
		if d.key == name && d.verb == Changes && d.can(m.chosen()) { // the team need not run
			m.focus, m.whole, m.changing, m.diffOf = m.from, true, !m.readsChanges(), ""
			return nil
		}
	}
	for _, d := range deeds {
		if d.key != name || d.verb == Changes {
			continue
		}
		known = cmp.Or(known, d.verb)
		r := m.chosen()
		switch {
		case !m.scene.runs && m.stop != nil:
			m.say(notYet, true)
			return nil
		case !m.scene.runs:
			m.say(readOnly, true)
			return nil
		case !d.can(r):
		case d.ask == "":
			return m.start("", d.act(r))
		default:
			m.ask(d)
			return nil
		}
	}
	if known != "" {
		m.say("there is nothing to "+string(known)+" here", true)
	}
	return nil
}

// ask asks about a deed with the chosen row before it is done. In the log that fills the board, what is
// written to its member stays a conversation.
func (m *model) ask(d deed) {
	r := m.chosen()
	a := d.act(r)
	label := d.question(a, r, m.readsChanges())
	if d.verb == MergeUnmarked {
		label = m.askUnmarked()
	}
	m.typing = &typing{label: label, deed: d, act: a, confirm: d.confirms(r, m.readsChanges()), stays: d.verb == Send && m.whole && m.readsLog()}
	m.line.set("")
}

// askUnmarked asks about all work without marks, by its names if there is room.
func (m *model) askUnmarked() string {
	var ids, names []string
	for _, r := range m.lists[needs].rows {
		if r.clean {
			ids = append(ids, cmp.Or(r.task, r.member))
			names = append(names, strings.TrimSpace(r.task+" "+r.title))
		}
	}
	before := "merge " + texts.Plural(len(ids), "piece") + " of work without marks"
	if text := before + ": " + strings.Join(names, ", ") + "? "; len(names) > 0 && ansi.StringWidth(text) < m.width {
		return text
	}
	return before + ": " + strings.Join(ids, ", ") + "? "
}

// quitDelay is how long a lone q in a line that stays waits for more to be typed before it leaves:
// longer than anybody takes for the second letter of a word, and too short to notice.
const quitDelay = 500 * time.Millisecond

// quitLine leaves the board if it is the whole line. covey send can send a message of that one letter.
const quitLine = "q"

// typeKey handles a key while somebody types.
func (m *model) typeKey(k tea.KeyPressMsg) tea.Cmd {
	t, before := m.typing, m.line.text()
	switch name := k.String(); {
	case name == "esc":
		m.typing = nil
		if t.filter {
			m.search("")
		}
		return nil
	case name == "enter":
		return m.enter(t)
	case scrolls(name):
		return m.scroll(name)
	case t.stays && (name == "home" || name == "end") && (before == "" || name == "end" && m.log.isUp()):
		return m.scroll("ctrl+" + name)
	case t.stays && name == "ctrl+d" && before == "": // as in a shell: with text in the line it deletes
		return m.leave()
	case !t.takesText():
		return nil
	case name == "up", name == "ctrl+p":
		m.line.recall(-1)
	case name == "down", name == "ctrl+n":
		m.line.recall(1)
	default:
		m.line.key(k)
	}
	m.typed()
	if t.stays && before == "" && m.line.text() == quitLine {
		keys := m.keys
		return tea.Tick(quitDelay, func(time.Time) tea.Msg { return quitSoonMsg{keys} })
	}
	return nil
}

// typed handles that the typed text has changed: a filter works at once.
func (m *model) typed() {
	if m.typing.filter {
		m.search(term.PlainLine(m.line.text()))
	}
}

// enter ends typing and does what it was for.
func (m *model) enter(t *typing) tea.Cmd {
	if t.filter {
		m.typing = nil
		return nil
	}
	if t.confirm != "" && strings.TrimSpace(m.line.text()) != t.confirm {
		m.typing = nil
		m.say("nothing was done: that was not "+t.confirm, true)
		return nil
	}
	if t.deed.typed == needed && strings.TrimSpace(m.line.text()) == "" {
		return nil // people also press Enter to see whether anything is alive
	}
	if !t.stays {
		m.typing = nil
	}
	if v := t.deed.verb; m.readsChanges() && (v == Merge || v == Return || v == Approve || v == Deny) {
		m.whole = m.next(1, func(r row) bool { return r.merges || r.request != "" && r.changes })
		m.changing = m.whole
	}
	act, text := t.act, m.line.submit()
	if t.more != nil {
		m.unpick()
	}
	if t.confirm == "" {
		act.Text = text
	}
	switch {
	case t.stays && text == quitLine:
		return m.leave()
	case t.deed.verb == Send && text == ":help":
		m.say(commands, false)
		return nil
	case t.deed.verb == Send && strings.HasPrefix(text, ":"):
		var err error
		if act, err = command(text, m.chosen().member); err != nil {
			m.done(doneMsg{typed: text, err: err})
			return nil
		}
	}
	return m.start(text, append([]Act{act}, t.more...)...)
}
