package board

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
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
	// Member, if it is set, is the member whose log fills the board at first, with a line to write to it.
	Member string
	// Do does what a key asks for, and says what became of it. It may take long.
	Do func(ctx context.Context, a Act) (said string, err error)
	// Mask replaces secrets in all that is shown.
	Mask func(text string) string
	// Question returns the full text of an open question. It may take long.
	Question func(ctx context.Context, id string) (string, error)
	// Changes returns what the work on a task changes, or a member without one, below what to look at first. It may take long.
	Changes func(ctx context.Context, task, member string) (string, error)
}

// Run shows the board on the terminal until the operator leaves it. runs reports whether the team
// runs by then. When Run returns, the screen and all readers have ended.
func (b Board) Run(ctx context.Context, in io.Reader, out *term.Screen) (runs bool, err error) {
	arrived := &tray{feed: view.NewFeed(b.Place), mask: b.Mask}
	arrived.feed.Begin = arrived.clear
	m := b.model(ctx, out, arrived)
	err = b.show(ctx, tea.NewProgram(m, options(ctx, in, out)...), arrived, nil)
	return m.scene.runs, err
}

// options are those of the terminal library. Signals are not its own: it would take them up only after
// it has changed the terminal, and not SIGHUP. It restores the terminal when the context ends.
func options(ctx context.Context, in io.Reader, out *term.Screen) []tea.ProgramOption {
	return []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out.File), tea.WithoutSignalHandler(),
	}
}

// model returns the model of the board.
func (b Board) model(ctx context.Context, out *term.Screen, arrived *tray) *model {
	m := newModel(out, b.Place.Team)
	m.sequences, m.sent = arrived.waiting, arrived.sent
	m.do = func(a Act) (string, error) { return b.Do(ctx, a) }
	m.question = func(id string) (string, error) {
		text, err := b.Question(ctx, id)
		return masked(b.Mask, text), err
	}
	m.changes = func(task, member string) (string, error) {
		text, err := b.Changes(ctx, task, member)
		return masked(b.Mask, text), err
	}
	m.older = b.older
	if b.Member != "" {
		m.open(b.Member)
	}
	return m
}

// show runs the program and its readers, which begin to read the journal once begun is closed.
func (b Board) show(ctx context.Context, program *tea.Program, arrived *tray, begun <-chan struct{}) error {
	ended, cancel := context.WithCancel(ctx)
	feed := arrived.feed
	feed.Line, feed.Drafting = arrived.add, true
	defer feed.Watch()()
	var readers sync.WaitGroup
	readers.Go(func() {
		if begun != nil {
			select {
			case <-begun:
			case <-ended.Done():
				return
			}
		}
		feed.Run(ended)
	})
	readers.Go(func() { follow(ended, arrived, begun != nil, program) })
	_, err := program.Run()
	if ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic) {
		err = nil // a signal leaves the board as the key does
	}
	cancel()
	readers.Wait()
	if err != nil {
		return fmt.Errorf("the board: %w", err)
	}
	return nil
}

// follow sends the model what has changed, as often as a person can see it.
func follow(ctx context.Context, arrived *tray, own bool, program *tea.Program) {
	for ctx.Err() == nil {
		var n news
		next := arrived.feed.Read(func(now view.Now) { n.scene, n.drafts = sceneOf(now, own), now.Drafts })
		arrived.take(&n)
		n.mask(arrived.mask)
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

// Bounds of what is read at a time when somebody scrolls above the rows of the log: a few screens of the
// chosen member. More would delay the first one, fewer would be read at every key.
const (
	olderRows = 200
	mostOlder = 5_000 // of all members
)

// older reads the rows before a line of the journal, which the log does not have any more.
func (b Board) older(before uint64, member string) ([]*logRow, error) {
	var rows []*logRow
	wanted := 0
	for l, err := range state.JournalBackwards(b.Place.Journal(), before) {
		if err != nil {
			return nil, err
		}
		e := l.Event()
		if _, shown := view.Full(e); !shown {
			continue
		}
		rows = append(rows, newLogRow(e).masked(b.Mask))
		if member == "" || view.Concerns(member)(e) {
			wanted++
		}
		if wanted == olderRows || len(rows) == mostOlder {
			break
		}
	}
	slices.Reverse(rows)
	return rows, nil
}

// Bounds of what waits for a terminal that does not read.
const (
	maxWaiting   = 100_000 // rows; a log keeps no more either
	maxSequences = 50
)

// tray holds what has arrived and is not on the board yet. Who puts something there never waits for the
// terminal.
type tray struct {
	feed *view.Feed
	mask func(string) string

	mu        sync.Mutex
	rows      []*logRow // of the log
	fresh     bool      // the log begins anew with them: another journal has begun, or some were dropped
	notice    string    // of the program itself
	bad       bool      // notice is a warning
	sequences []string  // for the terminal, not shown
}

// clear notes that another journal begins.
func (t *tray) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.fresh = nil, true
}

// add adds the row of an event, which is made before the lock is taken, because it may be long.
func (t *tray) add(e events.Event) { t.addRow(newLogRow(e).masked(t.mask)) }

// addRow adds a row, and drops the oldest ones when there are too many.
func (t *tray) addRow(row *logRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows = append(t.rows, row); len(t.rows) > maxWaiting {
		t.rows, t.fresh = append([]*logRow(nil), t.rows[maxWaiting/10:]...), true
	}
}

// put changes the tray and has it looked at.
func (t *tray) put(change func()) {
	t.mu.Lock()
	change()
	t.mu.Unlock()
	t.feed.Change(nil)
}

// take adds what has arrived since the last call.
func (t *tray) take(n *news) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.rows, n.fresh, n.notice, n.bad = t.rows, t.fresh, t.notice, t.bad
	t.rows, t.fresh, t.notice = nil, false, ""
}

// waiting returns the sequences that wait for the terminal, and sent removes those that it has got.
func (t *tray) waiting() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.sequences, "")
}

// sent removes sequences that the terminal has got.
func (t *tray) sent(sequences string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.sequences) > 0 && strings.HasPrefix(sequences, t.sequences[0]) {
		sequences, t.sequences = sequences[len(t.sequences[0]):], t.sequences[1:]
	}
}
