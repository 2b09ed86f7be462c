package board

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Board is what the board needs of its command.
type Board struct {
	Place state.Place
	// Do does what a key asks for, and says what became of it. It may take long.
	Do func(ctx context.Context, a Act) (said string, err error)
	// Question returns the full text of an open question. It may take long.
	Question func(ctx context.Context, id string) (string, error)
}

// Run shows the board on the terminal until the operator leaves it. runs reports whether the team
// runs by then. When Run returns, the screen and all readers have ended.
func (b Board) Run(ctx context.Context, in io.Reader, out *term.Screen) (runs bool, err error) {
	// The library would take up signals only after it has changed the terminal, and not SIGHUP. It
	// restores the terminal when the context ends.
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	context.AfterFunc(ctx, cancel) // a second signal ends the process: the terminal may not read any more
	m := newModel(out, b.Place.Team)
	m.do = func(a Act) (string, error) { return b.Do(ctx, a) }
	m.question = func(id string) (string, error) { return b.Question(ctx, id) }
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out.File),
		tea.WithoutSignalHandler())
	arrived := &tray{}
	feed := view.NewFeed(b.Place)
	feed.Begin, feed.Line, feed.Drafting = arrived.clear, arrived.add, true
	defer feed.Watch()()
	var readers sync.WaitGroup
	readers.Go(func() { feed.Run(ctx) })
	readers.Go(func() { follow(ctx, feed, arrived, program) })
	_, err = program.Run()
	if ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic) {
		err = nil // a signal leaves the board as the key does
	}
	cancel()
	readers.Wait()
	if err != nil {
		err = fmt.Errorf("the board: %w", err)
	}
	return m.scene.runs, err
}

// follow sends the model what has changed, as often as a person can see it.
func follow(ctx context.Context, feed *view.Feed, arrived *tray, program *tea.Program) {
	for ctx.Err() == nil {
		var n news
		next := feed.Read(func(now view.Now) { n.scene, n.drafts = sceneOf(now), now.Drafts })
		n.rows, n.fresh = arrived.take()
		program.Send(n)
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(view.Gather):
		case <-ctx.Done():
		}
	}
}

// maxWaiting is how many rows wait for a terminal that does not read; older ones are dropped. A log
// keeps no more either.
const maxWaiting = 100_000

// tray holds the rows of the log that have arrived and are not on the board yet.
type tray struct {
	mu    sync.Mutex
	rows  []*view.Row
	fresh bool // another journal has begun before the rows
}

// clear notes that another journal begins.
func (t *tray) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.fresh = nil, true
}

// add adds the row of an event, which is made before the lock is taken, because it may be long.
func (t *tray) add(e events.Event) {
	row := view.NewRow(e)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows = append(t.rows, row); len(t.rows) > maxWaiting {
		t.rows = append([]*view.Row(nil), t.rows[maxWaiting/10:]...)
	}
}

// take returns what has arrived since the last call.
func (t *tray) take() (rows []*view.Row, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows, fresh = t.rows, t.fresh
	t.rows, t.fresh = nil, false
	return rows, fresh
}
