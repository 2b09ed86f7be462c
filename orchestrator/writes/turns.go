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
)

// Turns finds out which files one member changes in its turns. It stores that in a
// file, so that a turn that continues after a crash is held to its earlier changes. It
// is safe for concurrent use.
//
// Its methods get a function that opens the folder in which the member works alone; nil: others write there, too, and
// only the files of Wrote are the member's.
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
	// Wrote are the files of Wrote that were not committed since.
	Wrote map[string]bool `json:"wrote,omitempty"`
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

// Begin records that a turn begins or continues, and the state of the folder, unless that is known.
func (t *Turns) Begin(ctx context.Context, turn int, open func(context.Context) (*Folder, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = turn
	if open == nil || t.kept.Turn == turn && !t.kept.From.Time.IsZero() {
		return nil
	}
	return t.renew(ctx, open)
}

// renew records the state of the folder.
func (t *Turns) renew(ctx context.Context, open func(context.Context) (*Folder, error)) error {
	t.kept.From = Snapshot{}
	g, err := open(ctx)
	if err != nil {
		return err
	}
	base, err := g.Head(ctx)
	if err != nil {
		return err
	}
	now, err := g.Take(ctx, Snapshot{Base: base})
	if err != nil {
		return fmt.Errorf("read the files at the start of the turn: %w", err)
	}
	t.kept.Turn, t.kept.From = t.now, now
	maps.DeleteFunc(t.kept.Owed, func(path string, was State) bool { return !now.Of(path).Same(was) })
	return t.save()
}

// End records what the turn has changed. Changes that cannot be determined are not
// owed.
func (t *Turns) End(ctx context.Context, open func(context.Context) (*Folder, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = 0
	if open == nil || t.kept.From.Time.IsZero() {
		return nil
	}
	changed, now, err := t.changed(ctx, open)
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
	return errors.Join(err, t.save())
}

// Wrote records that a call of the member has written a file.
func (t *Turns) Wrote(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.Wrote[path] {
		return nil
	}
	if t.kept.Wrote == nil {
		t.kept.Wrote = map[string]bool{}
	}
	t.kept.Wrote[path] = true
	return t.save()
}

// Committed records that files of Wrote are committed, or as they were.
func (t *Turns) Committed(files []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := len(t.kept.Wrote)
	for _, path := range files {
		delete(t.kept.Wrote, path)
	}
	if len(t.kept.Wrote) == had {
		return nil
	}
	return t.save()
}

// Changed lists the files that the member has changed in this turn, and those that it owes,
// committed or not, in order. If the folder was not recorded when the turn began, because no policy
// needed it, only changes from now on count.
func (t *Turns) Changed(ctx context.Context, open func(context.Context) (*Folder, error)) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case open == nil:
		return slices.Sorted(maps.Keys(t.kept.Wrote)), nil
	case t.now == 0:
		return slices.Sorted(maps.Keys(t.kept.Owed)), nil
	}
	if t.kept.From.Time.IsZero() {
		if err := t.renew(ctx, open); err != nil {
			return nil, err
		}
	}
	files, _, err := t.changed(ctx, open)
	return files, err
}

// changed also returns the current state of the folder.
func (t *Turns) changed(ctx context.Context, open func(context.Context) (*Folder, error)) ([]string, Snapshot, error) {
	g, err := open(ctx)
	if err != nil {
		return nil, Snapshot{}, err
	}
	now, err := g.Take(ctx, t.kept.From)
	if err != nil {
		return nil, now, fmt.Errorf("read the files that the turn has changed: %w", err)
	}
	found := maps.Collect(maps.All(t.kept.Owed))
	for _, path := range now.Since(t.kept.From) {
		found[path] = State{}
	}
	return slices.Sorted(maps.Keys(found)), now, nil
}

// save stores the state.
func (t *Turns) save() error {
	data, err := json.Marshal(t.kept)
	if err == nil {
		err = os.WriteFile(t.file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(t.file+".new", t.file)
	}
	if err != nil {
		return fmt.Errorf("store what a turn has changed: %w", err)
	}
	return nil
}
