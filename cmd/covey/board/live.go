package board

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
)

// restoreWithin is how long the terminal may take to be restored before Force does
// it. The library may hang in a write to a terminal that reads nothing any more.
const restoreWithin = 400 * time.Millisecond

// Live is the board of a team that this process runs. It is shown until End, and Ctrl-C stops the team.
// None of its methods but End waits for the terminal, which may read nothing any more.
type Live struct {
	screen  *term.Screen
	arrived *tray
	begun   chan struct{}
	program *tea.Program
	restore func() // restores the state of the terminal
	done    chan struct{}
}

// Start takes the terminal over and returns at once. Keys come from in; if it is not
// a terminal, such as /dev/null, there are no keys, and Ctrl-C comes as a signal. stop is called for
// each Ctrl-C, which a terminal in raw mode sends as a key. End must be called to restore the terminal.
func (b Board) Start(in io.Reader, out *term.Screen, stop func()) *Live {
	if !term.IsTerminal(in) {
		in = nil
	}
	ctx := context.Background() // End ends the board
	l := &Live{
		screen: out, arrived: &tray{feed: view.NewFeed(b.Place), mask: b.Mask}, begun: make(chan struct{}),
		restore: out.Restorer(), done: make(chan struct{}),
	}
	m := b.model(ctx, out, l.arrived)
	m.stop = stop
	l.program = tea.NewProgram(m, options(ctx, in, out)...)
	go func() {
		defer close(l.done)
		_ = b.show(ctx, l.program, l.arrived, l.begun) // a closed terminal ends the board, not the team
	}()
	return l
}

// attachWithin is how long Up waits. A team that is up answers at once.
const attachWithin = 10 * time.Second

// Up says that the team can be reached, and waits until it knows that a person is there to be asked, so
// that this holds for its first question, too. It is called at most once.
func (l *Live) Up() {
	close(l.begun)
	late := time.After(attachWithin)
	for {
		answered := false
		changed := l.arrived.feed.Read(func(now view.Now) { answered = now.Status != nil || now.Absent != nil })
		if answered {
			return
		}
		select {
		case <-changed:
		case <-l.done: // the terminal is closed
			return
		case <-late:
			return
		}
	}
}

// Tell shows a notice of the program itself.
func (l *Live) Tell(notice string) {
	l.arrived.put(func() { l.arrived.notice, l.arrived.bad = notice, false })
}

// News shows a problem of covey itself, and adds it to the log of the team.
func (l *Live) News(text string) {
	l.arrived.addRow(noteRow(view.Entry{Time: time.Now(), Who: "covey", Text: term.ShortMiddle(text), Style: term.Yellow}))
	l.arrived.put(func() { l.arrived.notice, l.arrived.bad = text, true })
}

// Send has a sequence without visible text written to the terminal.
func (l *Live) Send(sequence string) {
	l.arrived.put(func() {
		if len(l.arrived.sequences) < maxSequences {
			l.arrived.sequences = append(l.arrived.sequences, sequence)
		}
	})
}

// End gives the terminal back and waits until it is restored. It may be called more
// than once.
func (l *Live) End() {
	go l.program.Quit()
	select {
	case <-l.done:
		_, _ = l.screen.File.WriteString(l.arrived.waiting()) // those of the end of the run
	case <-time.After(restoreWithin):
		l.Force()
	}
}

// Force restores the terminal without the library, which may hang. It resets what the
// library may have set: the other screen, the hidden cursor, marked pastes and
// colours. Resetting twice does no harm.
func (l *Live) Force() {
	const leave = "\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[0m"
	_, _ = l.screen.File.WriteString(leave)
	l.restore()
}
