package view

import (
	"io"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// redraw is how often the live view looks whether its board has changed. Faster
// than anybody can read, and slow enough to cost nothing.
const redraw = 100 * time.Millisecond

// restoreWithin is how long the terminal may take to be left in order before it
// is restored by force. The library may hang in a write to a terminal that
// takes nothing any more.
const restoreWithin = 400 * time.Millisecond

// LiveView shows a board on a terminal while a team runs. Lines may be applied
// at any time and never wait for the terminal: it looks at the board, the board
// does not call it. One goroutine, the library's, draws; stop waits for it.
type LiveView struct {
	screen    *term.Screen
	interrupt func() // called when a person presses Ctrl-C
	now       func() time.Time

	mu    sync.Mutex
	board *board

	program *tea.Program
	restore func() // brings the terminal back into the state that it had
	done    chan struct{}
}

// NewLiveView returns a view of a team that is not shown yet. interrupt is called for
// each Ctrl-C, which a terminal in raw mode sends as a key, not as a signal.
func NewLiveView(s *term.Screen, team string, members []string, interrupt func()) *LiveView {
	return &LiveView{screen: s, board: newBoard(team, members, time.Now()), interrupt: interrupt, now: time.Now, restore: func() {}, done: make(chan struct{})}
}

// Apply takes a line of the journal in. It is called by whoever reads the
// journal and takes the lock for as long as it takes to change a few fields.
func (v *LiveView) Apply(l journal.Line) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.apply(l)
}

// Tell shows what the program itself has to say. It stays there until the next
// notice.
func (v *LiveView) Tell(notice string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.notice = notice
}

// Start takes the terminal over. in is where keys come from; when it is no
// terminal, such as /dev/null, there are none, and Ctrl-C comes as a signal. It
// returns at once. stop must be called, or the terminal stays as it is.
func (v *LiveView) Start(in io.Reader) {
	if !term.IsTerminal(in) {
		in = nil
	}
	v.restore = v.screen.Restorer()
	v.program = tea.NewProgram(&liveModel{view: v},
		tea.WithInput(in), tea.WithOutput(v.screen.File), tea.WithoutSignalHandler())
	go func() {
		defer close(v.done)
		_, _ = v.program.Run() // a terminal that went away ends the view, not the team
	}()
}

// Stop returns the terminal back and waits until it is in order again. It may be
// called more than once.
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
	case <-time.After(restoreWithin):
		v.Force()
	}
}

// Force restores the terminal without the program's help, for when it hangs or
// there is no time left. It takes back what the library may have switched on:
// the other screen, the hidden cursor, marked pastes and colours. Taking back
// what is not on does no harm.
func (v *LiveView) Force() {
	const leave = "\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[0m"
	_, _ = v.screen.File.WriteString(leave)
	v.restore()
}

// liveModel draws a liveView; it is what the terminal library calls. It looks
// at the board at intervals instead of being told of changes: a team can do
// more in a second than a screen can show.
type liveModel struct {
	view          *LiveView
	width, height int
}

// lookMsg says that it is time to look at the board again.
type lookMsg struct{}

// look asks for the next lookMsg.
func look() tea.Cmd {
	return tea.Tick(redraw, func(time.Time) tea.Msg { return lookMsg{} })
}

// Init begins to look.
func (m *liveModel) Init() tea.Cmd { return look() }

// Update takes keys, sizes and looks.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case lookMsg:
		return m, look()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			m.view.interrupt()
		}
	}
	return m, nil
}

// View draws the board into the whole terminal. It uses the other screen of the
// terminal, so that no size and no resizing leaves traces on the one with the
// person's history.
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

// News shows a trouble of covey's own among the news. It may be called before
// start: then it is there when the view is.
func (v *LiveView) News(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.addNews(entry{at: v.now(), who: "covey", text: term.Short(text), style: term.Yellow})
}
