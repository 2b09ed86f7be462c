package board

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/members"
)

// pane is a part of the board.
type pane int

// The panes, in the order of Tab. The first are lists.
const (
	needs pane = iota
	membersOf
	tasksOf
	logOf
	panes int = iota
)

// lists is how many panes are lists.
const lists = int(logOf)

// The messages of the model.
type (
	// news is what has changed in the team.
	news struct {
		scene  scene
		rows   []*logRow // new lines of the log
		fresh  bool      // another journal has begun before them
		drafts members.Drafting
		notice string // of covey itself
		bad    bool   // notice is a warning
	}
	secondMsg time.Time // a second has passed: ages grow
	// doneMsg is what became of an act.
	doneMsg struct {
		said  string
		typed string // the line that asked for it
		err   error
	}
	// questionMsg is the full text of a question.
	questionMsg struct{ id, text string }
	// changesMsg is what the work of the row with a key changes.
	changesMsg struct{ key, text string }
	// olderMsg are the rows before the oldest one of the log; none: there are no such rows.
	olderMsg struct {
		rows []*logRow
		err  error
	}
	// quitSoonMsg comes quitDelay after a q on an empty line. keys is the number of keys pressed by then.
	quitSoonMsg struct{ keys int }
)

// model is the board for the terminal library. All that it draws is in its fields.
type model struct {
	screen        *term.Screen
	team          string
	width, height int
	now           time.Time
	scene         scene

	lists [lists]list
	log   *rowLog
	focus pane
	from  pane // the list whose chosen row the log belongs to: the last one that had the focus
	keys  int  // how many keys were pressed

	member  string // whose log is shown until its row is known, or another is chosen; empty: the chosen one's
	top     bool   // there is nothing older than what log has
	reading bool   // older rows were asked for and have not come yet

	logFilter string
	whole     bool // one pane fills the board
	changing  bool // with the changes of the chosen row in place of what else is known of it
	help      bool

	line   inputLine
	typing *typing // nil: keys are verbs
	notice string
	bad    bool // notice is an error

	asked  map[string]string // full texts of questions by id; empty: it was asked for
	reader reader            // of what there is to read about the chosen row
	diffOf string            // the key of the row whose changes were asked for last
	diff   string            // what it changes; empty: that has not come yet

	do       func(Act) (string, error)
	question func(id string) (string, error)
	changes  func(task, member string) (string, error)
	older    func(before uint64, member string) ([]*logRow, error)
	stop     func() // stops the team, which runs in this process; nil: it does not

	sequences func() string    // what waits to be written to the terminal, without being shown
	sent      func(all string) // the terminal has got them
	sending   bool             // it is about to
}

// typing is what somebody types in the line above the keys.
type typing struct {
	label  string
	filter bool // the line is the filter of the focused pane
	deed   deed
	act    Act
	more   []Act // done after act
	stays  bool  // the line stays for more to be sent
	// confirm is the word that has to be typed; empty: none.
	confirm string
}

// takesText reports whether something can be typed, rather than only agreed to.
func (t *typing) takesText() bool { return t.filter || t.confirm != "" || t.deed.typed != nothing }

// newModel returns a board that knows nothing yet.
func newModel(s *term.Screen, team string) *model {
	m := &model{
		screen: s, team: term.PlainLine(team), now: time.Now(), log: newLog(s), focus: membersOf, from: membersOf,
		line: newInputLine(), asked: map[string]string{},
	}
	m.scene.word = "…"
	return m
}

// open opens the log of a member in the whole board, with a line to write to it.
func (m *model) open(member string) {
	m.member, m.focus, m.whole, m.keys = member, logOf, true, 1
	m.follow()
	m.ask(send)
}

// Init starts the clock.
func (m *model) Init() tea.Cmd { return second() }

// second waits for the next secondMsg.
func second() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return secondMsg(t) })
}

// Update handles one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		m.keys++
		if m.typing != nil && m.typing.takesText() {
			m.line.insert(msg.Content)
			m.typed()
		}
	case secondMsg:
		m.now, cmd = time.Time(msg), second()
	case news:
		m.take(msg)
		cmd = m.raw()
	case tea.RawMsg:
		m.sent(fmt.Sprint(msg.Msg))
		m.sending = false
		cmd = m.raw()
	case doneMsg:
		m.done(msg)
	case questionMsg:
		m.asked[msg.id] = msg.text
	case changesMsg:
		if m.diffOf == msg.key {
			m.diff = msg.text
		}
	case olderMsg:
		m.reading, m.top = false, msg.err == nil && len(msg.rows) == 0
		m.log.addOlder(msg.rows)
		if msg.err != nil {
			m.say("the journal cannot be read: "+msg.err.Error(), true)
		}
	case quitSoonMsg:
		if m.keys == msg.keys {
			cmd = m.leave()
		}
	}
	return m, tea.Batch(cmd, m.read(), m.readChanges())
}

// raw writes what is not shown to the terminal. It is kept until the terminal has it, because the board
// may end meanwhile.
func (m *model) raw() tea.Cmd {
	if m.sequences == nil || m.sending || m.sequences() == "" {
		return nil
	}
	m.sending = true
	return tea.Raw(m.sequences())
}

// done says what became of an act. A line that was not sent comes back, unless something else is typed by
// now.
func (m *model) done(msg doneMsg) {
	m.say(msg.said, false)
	if msg.err == nil {
		return
	}
	m.say(msg.err.Error(), true)
	if m.typing != nil && m.typing.stays && m.line.text() == "" {
		m.line.set(msg.typed)
	}
}

// take takes up what has changed in the team.
func (m *model) take(n news) {
	m.scene = n.scene
	m.keepPicked(n.scene.rows[needs])
	for i := range m.lists {
		m.lists[i].set(n.scene.rows[i])
	}
	if m.readsChanges() && m.chosen().key == "" { // nothing is left to decide
		m.whole, m.changing = false, false
	}
	if i := slices.IndexFunc(m.lists[membersOf].shown(), func(r row) bool { return r.key == m.member }); m.member != "" && i >= 0 {
		m.lists[membersOf].choose(i)
		m.member = ""
	}
	if m.keys == 0 && len(m.lists[needs].rows) > 0 {
		m.focus, m.from = needs, needs // until somebody is at the keys, what needs one comes first
	}
	if n.fresh {
		m.log.clear()
		m.top = false
	}
	for _, r := range n.rows {
		if m.log.add(r) {
			m.top = false // what was dropped can be read again
		}
	}
	m.log.setDrafts(n.drafts)
	if n.notice != "" {
		m.say(n.notice, n.bad)
	}
	m.follow()
}

// chosen returns the row that keys act on and that the log belongs to.
func (m *model) chosen() row {
	if m.member == "" {
		return m.lists[m.from].chosen()
	}
	return row{key: m.member, name: term.PlainLine(m.member), member: m.member}
}

// follow shows the log of the chosen row.
func (m *model) follow() { m.log.choose(m.chosen().member, m.logFilter) }

// say shows a notice above the keys, until the next one or the next key.
func (m *model) say(text string, bad bool) { m.notice, m.bad = term.ShortMiddle(text), bad }

// maxAsked is how many full texts of questions are kept.
const maxAsked = 50

// read reads the full text of the chosen question, once. A scene has only its first line.
func (m *model) read() tea.Cmd {
	id := m.chosen().request
	if _, asked := m.asked[id]; asked || id == "" || m.question == nil {
		return nil
	}
	if len(m.asked) >= maxAsked {
		clear(m.asked)
	}
	m.asked[id] = ""
	return func() tea.Msg {
		text, err := m.question(id)
		if err != nil {
			text = "its full text cannot be read: " + err.Error()
		}
		return questionMsg{id, term.Plain(text)}
	}
}

// readsChanges reports whether the changes of the chosen row fill the board.
func (m *model) readsChanges() bool { return m.changing && m.readsText() }

// readChanges reads the changes of the chosen row while they are shown, once for each row.
func (m *model) readChanges() tea.Cmd {
	r := m.chosen()
	if !m.readsChanges() || m.diffOf == r.key || m.changes == nil {
		return nil
	}
	m.diffOf, m.diff, m.reader.below = r.key, "", 0
	return func() tea.Msg {
		text, err := m.changes(r.task, r.member)
		if err != nil {
			text = "the changes cannot be read: " + err.Error()
		}
		return changesMsg{r.key, term.Plain(text)}
	}
}

// about returns what there is to read about the chosen row.
func (m *model) about() string {
	r := m.chosen()
	text := m.asked[r.request]
	if r.request == "" {
		text = ""
	}
	if m.readsChanges() && m.diffOf == r.key {
		return strings.TrimLeft(text+"\n\n", "\n") + cmp.Or(m.diff, "reading the changes…")
	}
	return cmp.Or(text, r.about)
}

// start does acts outside of the model, one after another. One that fails keeps the others from nothing.
func (m *model) start(typed string, acts ...Act) tea.Cmd {
	m.say("asking the team…", false)
	return func() tea.Msg {
		var said []string
		var faults []error
		for _, a := range acts {
			text, err := m.do(a)
			if err != nil {
				faults = append(faults, err)
			} else if text != "" {
				said = append(said, text)
			}
		}
		return doneMsg{strings.Join(said, "; "), typed, errors.Join(faults...)}
	}
}

// View draws the board on the terminal's other screen.
func (m *model) View() tea.View {
	v := tea.View{AltScreen: true, Content: m.draw()}
	if x, y, ok := m.cursor(); ok {
		v.Cursor = tea.NewCursor(x, y)
	}
	return v
}
