package owned

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

// Turns finds out which files one member changes in its turns. It keeps that in a file, so
// that a turn that goes on after a crash is held to what it changed before. It is safe for
// concurrent use.
type Turns struct {
	file string

	mu   sync.Mutex
	now  int // the turn that is under way; 0: none
	kept keptTurn
}

// keptTurn is what outlives the process.
type keptTurn struct {
	Turn int      `json:"turn"`          // that From is of
	From Snapshot `json:"from,omitzero"` // the ground when the turn began; zero: not known, or the turn is over
	// Owed are the files that the member changed in earlier turns, as they were when its
	// last turn ended. A file that somebody has changed or committed since is owed no more.
	Owed map[string]State `json:"owed,omitempty"`
}

// Look is how a member's ground is looked at.
type Look struct {
	Who    string // the member
	Ground func(context.Context) (*Ground, error)
	Ledger *Ledger // tells whose doing a change was; nil: all of it is the member's
}

// OpenTurns reads what is known of a member's turns from its file. A file that is damaged,
// or not there, says nothing.
func OpenTurns(file string) *Turns {
	t := &Turns{file: file}
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &t.kept) != nil {
		t.kept = keptTurn{}
	}
	return t
}

// Begin notes that a turn begins, or goes on. With a Look it takes down how the ground
// stands, unless that is known.
func (t *Turns) Begin(ctx context.Context, turn int, l *Look) error {
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

// renew takes down how the ground stands.
func (t *Turns) renew(ctx context.Context, l Look) error {
	t.kept.From = Snapshot{}
	g, err := l.Ground(ctx)
	if err != nil {
		return err
	}
	base, err := g.Head(ctx)
	if err != nil {
		return err
	}
	now, err := g.Take(ctx, Snapshot{Base: base}, nil)
	if err != nil {
		return err
	}
	t.kept.Turn, t.kept.From = t.now, now
	maps.DeleteFunc(t.kept.Owed, func(path string, was State) bool { return !now.Of(path).Same(was) })
	l.keep(now.Time)
	return t.save()
}

// End notes what the turn has changed. What cannot be found out is not owed.
func (t *Turns) End(ctx context.Context, l Look) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = 0
	if t.kept.From.Time.IsZero() {
		return nil
	}
	changed, now, err := t.changed(ctx, l)
	if ctx.Err() != nil {
		return nil // the run ends, and the turn goes on in the next one
	}
	if err == nil {
		t.kept.Owed = map[string]State{}
		for _, path := range changed {
			t.kept.Owed[path] = now.Of(path)
		}
	}
	t.kept.From = Snapshot{}
	if l.Ledger != nil {
		l.Ledger.Release(l.key())
	}
	return errors.Join(err, t.save())
}

// Changed lists the files that the member has changed in this turn, and those that it owes,
// committed or not, in order. Where it is not known how the ground stood when the turn
// began, because nobody asked for it then, the turn is looked at from now on.
func (t *Turns) Changed(ctx context.Context, l Look) ([]string, error) {
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

// changed also says how the ground stands now.
func (t *Turns) changed(ctx context.Context, l Look) ([]string, Snapshot, error) {
	g, err := l.Ground(ctx)
	if err != nil {
		return nil, Snapshot{}, err
	}
	now, err := g.Take(ctx, t.kept.From, nil)
	if err != nil {
		return nil, now, err
	}
	found := maps.Collect(maps.All(t.kept.Owed))
	for _, path := range now.Since(t.kept.From) {
		if l.Ledger == nil || l.Ledger.Only(l.Who, path, Trace{g.PrintOf(path), g.When(path, t.kept.From.Time)}) {
			found[path] = State{}
		}
	}
	return slices.Sorted(maps.Keys(found)), now, nil
}

// save keeps what is known.
func (t *Turns) save() error {
	if err := Save(t.file, t.kept); err != nil {
		return fmt.Errorf("keep what a turn has changed: %w", err)
	}
	return nil
}

// key is the member's in the ledger.
func (l Look) key() string { return "turn of " + l.Who }

// keep has the ledger keep what is needed to look at changes since a moment.
func (l Look) keep(since time.Time) {
	if l.Ledger != nil {
		l.Ledger.Keep(l.key(), since)
	}
}

// Save writes a file as JSON, whole or not at all.
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
