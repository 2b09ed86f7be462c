package view

import (
	"io"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/view"
)

// redraw is how often the live view draws its board: faster than anybody can read,
// and cheap.
const redraw = 100 * time.Millisecond

// restoreWithin is how long the terminal may take to be restored before Force does
// it. The library may hang in a write to a terminal that reads nothing any more.
const restoreWithin = 400 * time.Millisecond

// LiveView shows a board on a terminal while a team runs. Apply never waits for the
// terminal: the view polls the board. The library's goroutine draws; Stop waits for
// it.
type LiveView struct {
	// Drafts, if set before Start, has what the members write at the moment.
	Drafts *lives.Drafts

	screen    *term.Screen
	interrupt func() // called for Ctrl-C
	now       func() time.Time

	mu        sync.Mutex // guards the next two
	board     *board
	sequences []string // for the terminal, not shown

	program *tea.Program
	restore func() // restores the state of the terminal
	done    chan struct{}
}

// NewLiveView returns a view that is not shown yet. interrupt is called for each
// Ctrl-C, which a terminal in raw mode sends as a key, not as a signal.
func NewLiveView(s *term.Screen, team string, members []string, interrupt func()) *LiveView {
	return &LiveView{screen: s, board: newBoard(team, members, time.Now()), interrupt: interrupt, now: time.Now, restore: func() {}, done: make(chan struct{})}
}

// Apply handles a line of the journal. It holds the lock only to change a few fields.
func (v *LiveView) Apply(e events.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.apply(e)
}

// lookAtDrafts reads what the members write at the moment.
func (v *LiveView) lookAtDrafts() {
	if v.Drafts == nil {
		return
	}
	drafts := v.Drafts.Now("").Drafts
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.drafts = drafts
}

// State returns what the lines say that were applied. It may be called after Stop, when none
// is applied any more.
func (v *LiveView) State() *view.State { return &v.board.state }

// Tell shows a notice of the program itself. It stays until the next one.
func (v *LiveView) Tell(notice string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.notice = notice
}

// Start takes the terminal over and returns at once. Keys come from in; if it is not
// a terminal, such as /dev/null, there are no keys, and Ctrl-C comes as a signal.
// Stop must be called to restore the terminal.
func (v *LiveView) Start(in io.Reader) {
	if !term.IsTerminal(in) {
		in = nil
	}
	v.restore = v.screen.Restorer()
	v.program = tea.NewProgram(&liveModel{view: v},
		tea.WithInput(in), tea.WithOutput(v.screen.File), tea.WithoutSignalHandler())
	go func() {
		defer close(v.done)
		_, _ = v.program.Run() // a closed terminal ends the view, not the team
	}()
}

// Stop gives the terminal back and waits until it is restored. It may be called more
// than once.
func (v *LiveView) Stop() {
	if v.program == nil {
		return
	}
	quit := make(chan struct{})
	go func() {
		defer close(quit)
		v.program.Quit()
	}()
	select {
	case <-v.done:
		_, _ = v.screen.File.WriteString(v.takeSequences()) // those of the end of the run
	case <-time.After(restoreWithin):
		v.Force()
	}
}

// Force restores the terminal without the library, which may hang. It resets what the
// library may have set: the other screen, the hidden cursor, marked pastes and
// colours. Resetting twice does no harm.
func (v *LiveView) Force() {
	const leave = "\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[0m"
	_, _ = v.screen.File.WriteString(leave)
	v.restore()
}

// liveModel draws a LiveView for the terminal library. It polls the board instead of
// being called: a team can do more in a second than a screen can show.
type liveModel struct {
	view          *LiveView
	width, height int
}

// tickMsg says that it is time to draw again.
type tickMsg struct{}

// tick schedules the next tickMsg.
func tick() tea.Cmd {
	return tea.Tick(redraw, func(time.Time) tea.Msg { return tickMsg{} })
}

// Init starts the ticks.
func (m *liveModel) Init() tea.Cmd { return tick() }

// Update handles keys, sizes and ticks.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		m.view.lookAtDrafts()
		if sequences := m.view.takeSequences(); sequences != "" {
			return m, tea.Batch(tick(), tea.Raw(sequences))
		}
		return m, tick()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			m.view.interrupt()
		case "ctrl+z":
			return m, tea.Suspend
		}
	}
	return m, nil
}

// View draws the board into the whole terminal. It uses the terminal's other screen,
// so that nothing remains on the one with the operator's history.
func (m *liveModel) View() tea.View {
	v := m.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if m.width <= 0 || m.height <= 0 {
		return tea.View{AltScreen: true}
	}
	lines := v.board.draw(v.screen, m.width, m.height, v.now())
	return tea.View{AltScreen: true, Content: strings.Join(lines, "\n")}
}

// News shows a problem of covey itself among the news. It may be called before Start.
func (v *LiveView) News(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.addNews(Entry{Time: v.now(), Who: "covey", Text: term.Short(text), Style: term.Yellow})
}
