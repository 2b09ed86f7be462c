package writes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// Turns finds out which files one member changes in its turns. It stores that in a
// file, so that a turn that continues after a crash is held to its earlier changes. It
// is safe for concurrent use.
type Turns struct {
	file string

	mu   sync.Mutex
	now  int // the current turn; 0: none
	kept keptTurn
}

// keptTurn is the stored state.
type keptTurn struct {
	Turn int      `json:"turn"`          // the turn of From
	From Snapshot `json:"from,omitzero"` // the folder at the start of the turn; zero: not known, or the turn is over
	// Owed are the files that the member changed in earlier turns, with their state at
	// the end of its last turn. A file that was changed or committed since is no longer
	// owed.
	Owed map[string]State `json:"owed,omitempty"`
}

// Reader describes how to read a member's folder.
type Reader struct {
	Who    string // the member
	Folder func(context.Context) (*SharedFolder, error)
	Log    *Log // tells who made a change; nil: the member made all of them
}

// OpenTurns reads the state of a member's turns from its file. A damaged or missing
// file counts as empty.
func OpenTurns(file string) *Turns {
	t := &Turns{file: file}
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &t.kept) != nil {
		t.kept = keptTurn{}
	}
	return t
}

// Begin records that a turn begins or continues. With a Reader it records the state of
// the folder, unless that is known.
func (t *Turns) Begin(ctx context.Context, turn int, l *Reader) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = turn
	switch {
	case l == nil:
		return nil
	case t.kept.Turn == turn && !t.kept.From.Time.IsZero():
		l.keep(t.kept.From.Time)
		return nil
	}
	return t.renew(ctx, *l)
}

// renew records the state of the folder.
func (t *Turns) renew(ctx context.Context, l Reader) error {
	t.kept.From = Snapshot{}
	g, err := l.Folder(ctx)
	if err != nil {
		return err
	}
	base, err := g.Head(ctx)
	if err != nil {
		return err
	}
	now, err := g.Take(ctx, Snapshot{Base: base}, nil)
	if err != nil {
		return fmt.Errorf("read the files at the start of the turn: %w", err)
	}
	t.kept.Turn, t.kept.From = t.now, now
	maps.DeleteFunc(t.kept.Owed, func(path string, was State) bool { return !now.Of(path).Same(was) })
	l.keep(now.Time)
	return t.save()
}

// End records what the turn has changed. Changes that cannot be determined are not
// owed.
func (t *Turns) End(ctx context.Context, l Reader) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = 0
	if t.kept.From.Time.IsZero() {
		return nil
	}
	changed, now, err := t.changed(ctx, l)
	if ctx.Err() != nil {
		return nil // the run ends; the turn continues in the next run
	}
	if err == nil {
		t.kept.Owed = map[string]State{}
		for _, path := range changed {
			t.kept.Owed[path] = now.Of(path)
		}
	}
	t.kept.From = Snapshot{}
	if l.Log != nil {
		l.Log.Release(l.key())
	}
	return errors.Join(err, t.save())
}

// Changed lists the files that the member has changed in this turn, and those that it owes,
// committed or not, in order. If the folder was not recorded when the turn began, because no policy
// needed it, only changes from now on count.
func (t *Turns) Changed(ctx context.Context, l Reader) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == 0 {
		return slices.Sorted(maps.Keys(t.kept.Owed)), nil
	}
	if t.kept.From.Time.IsZero() {
		if err := t.renew(ctx, l); err != nil {
			return nil, err
		}
	}
	files, _, err := t.changed(ctx, l)
	return files, err
}

// changed also returns the current state of the folder.
func (t *Turns) changed(ctx context.Context, l Reader) ([]string, Snapshot, error) {
	g, err := l.Folder(ctx)
	if err != nil {
		return nil, Snapshot{}, err
	}
	now, err := g.Take(ctx, t.kept.From, nil)
	if err != nil {
		return nil, now, fmt.Errorf("read the files that the turn has changed: %w", err)
	}
	found := maps.Collect(maps.All(t.kept.Owed))
	for _, path := range now.Since(t.kept.From) {
		if l.Log == nil || l.Log.Only(l.Who, path, Trace{g.PrintOf(path), g.When(path, t.kept.From.Time)}) {
			found[path] = State{}
		}
	}
	return slices.Sorted(maps.Keys(found)), now, nil
}

// save stores the state.
func (t *Turns) save() error {
	if err := Save(t.file, t.kept); err != nil {
		return fmt.Errorf("store what a turn has changed: %w", err)
	}
	return nil
}

// key is the member's key in the log.
func (l Reader) key() string { return "turn of " + l.Who }

// keep makes the log keep what is needed to judge changes since a time.
func (l Reader) keep(since time.Time) {
	if l.Log != nil {
		l.Log.Keep(l.key(), since)
	}
}

// Save writes a file as JSON, atomically.
func Save(file string, what any) error {
	data, err := json.Marshal(what)
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return err
}
