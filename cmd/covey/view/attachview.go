package view

import (
	"context"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/lives"
)

// quitDelay is how long a lone q waits for more to be typed before it leaves: longer
// than anybody takes for the second letter of a word, and too short to notice.
const quitDelay = 500 * time.Millisecond

// The messages of the attach view.
type (
	rowMsg      struct{ row *Row }  // the journal grew
	olderMsg    []*Row              // rows before the oldest one here
	noOlderMsg  struct{ err error } // older lines cannot be read
	draftsMsg   lives.Drafting      // what models write has changed
	overMsg     struct{ err error } // the journal has ended; err: it cannot be read
	quitSoonMsg struct{ keys int }  // quitDelay after a q on an empty line; keys: the number of keys pressed by then
)

// attachModel runs a pager in the terminal library. It calls send and older outside
// the library's loop: a team that is slow to answer must not freeze the keys.
type attachModel struct {
	pager *pager
	send  func(text string) Answer
	older func(before uint64) ([]events.Line, error)
	over  bool // the team has ended
}

// Answer is the result of a typed line.
type Answer struct {
	Text   string
	Unsent string // what was typed, if it was not sent
}

// Attach is the content of the attach view, and the actions of its keys.
type Attach struct {
	Title  string
	Tail   []events.Line // the lines to begin with
	Follow Follower      // reads the lines after them
	// Send sends a typed line to the member. It may take long.
	Send func(ctx context.Context, text string) Answer
	// Drafts waits until what models write differs from what the number is of; nil: nothing is
	// shown before it is whole. Its error ends the drafts and not the view.
	Drafts func(ctx context.Context, after uint64) (lives.Drafting, error)
	// Older reads lines from before the given one; an empty list means that there are
	// none.
	Older func(before uint64) ([]events.Line, error)
}

// Run shows the view on the terminal until the operator leaves it. over reports
// whether the team has ended by then. When Run returns, the screen and the reader of
// the journal have ended. Leaving the screen ends the reader, while the end of the
// journal leaves the screen up, so that it can be read.
func (a Attach) Run(ctx context.Context, in io.Reader, out *term.Screen) (over bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &attachModel{
		pager: newPager(out, a.Title, rowsOf(a.Tail)),
		send:  func(text string) Answer { return a.Send(ctx, text) },
		older: a.Older,
	}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out.File))
	var readers sync.WaitGroup
	if a.Drafts != nil {
		readers.Go(func() { a.followDrafts(ctx, program) })
	}
	readers.Go(func() {
		err := a.Follow(ctx, func(l events.Line) error {
			program.Send(rowMsg{NewRow(l.Event())})
			return nil
		})
		program.Send(overMsg{err})
	})
	_, err = program.Run()
	cancel()
	readers.Wait()
	return m.over, err
}

// rowsOf returns the rows of lines.
func rowsOf(lines []events.Line) []*Row {
	rows := make([]*Row, len(lines))
	for i, l := range lines {
		rows[i] = NewRow(l.Event())
	}
	return rows
}

// followDrafts shows what models write until ctx or the team ends.
func (a Attach) followDrafts(ctx context.Context, program *tea.Program) {
	var now lives.Drafting
	for {
		var err error
		if now, err = a.Drafts(ctx, now.Number); err != nil {
			program.Send(draftsMsg{})
			return
		}
		program.Send(draftsMsg(now))
	}
}

// Follower calls f for each wanted line of the journal, until the team ends, f fails,
// or the context ends. Tests replace it.
type Follower func(ctx context.Context, f func(events.Line) error) error

// Init starts nothing.
func (m *attachModel) Init() tea.Cmd { return nil }

// Update handles keys, sizes and journal lines. It is called for one message at a
// time, so the pager needs no lock.
func (m *attachModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.pager.width, m.pager.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.carryOut(m.pager.key(msg))
	case tea.PasteMsg:
		m.pager.keys++
		m.pager.line.Insert(msg.Content)
	case quitSoonMsg:
		if m.pager.keys == msg.keys && m.pager.line.Text() == quitLine {
			return m, tea.Quit
		}
	case rowMsg:
		m.pager.add(msg.row)
	case draftsMsg:
		m.pager.log.SetDrafts(lives.Drafting(msg))
	case olderMsg:
		m.pager.addOlder(msg)
	case noOlderMsg:
		m.pager.reading = false
		m.pager.say("the journal cannot be read: "+msg.err.Error(), true)
	case Answer:
		m.pager.answer(msg.Text, msg.Unsent)
	case overMsg:
		m.over = msg.err == nil
		m.pager.say("the team has ended; q leaves", false)
		if msg.err != nil {
			m.pager.say("the journal cannot be read: "+msg.err.Error(), true)
		}
	}
	return m, nil
}

// carryOut executes the action of a key. Commands run outside the loop and answer
// with messages; nothing here may block.
func (m *attachModel) carryOut(a action) tea.Cmd {
	switch {
	case a.leave:
		return tea.Quit
	case a.suspend:
		return tea.Suspend
	case a.leaveSoon:
		msg := quitSoonMsg{m.pager.keys}
		return tea.Tick(quitDelay, func(time.Time) tea.Msg { return msg })
	case a.older:
		before := m.pager.log.oldest()
		return func() tea.Msg {
			lines, err := m.older(before)
			if err != nil {
				return noOlderMsg{err}
			}
			return olderMsg(rowsOf(lines))
		}
	case a.send != "":
		m.pager.say("sending…", false)
		return func() tea.Msg { return m.send(a.send) }
	}
	return nil
}

// View draws the pager, with the cursor in the typed line.
func (m *attachModel) View() tea.View {
	p := m.pager
	view := tea.View{AltScreen: true, Content: p.view()}
	if p.width > 0 && p.height >= 2 {
		_, at := p.line.View(p.width - 2)
		view.Cursor = tea.NewCursor(min(2+at, p.width-1), p.height-1)
	}
	return view
}
