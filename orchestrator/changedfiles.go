package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/written"
	"github.com/coveyteam/covey/teammate"
)

// workCommitted is the policy that refuses while git does not have what a member has
// changed.
const workCommitted = "work-committed"

// changedFiles finds out which files members have changed, for the policy work-committed:
// in a git working copy of its own a member answers for all that changes there in its
// turns, in a folder that it shares for what written.Ledger says only it can have written.
// Nothing is looked at unless a hook or gate of the team names the policy.
type changedFiles struct {
	w     *sharedWrites
	asked func() bool // reports whether something names the policy

	mu    sync.Mutex
	marks map[string]*turnMark // by member
}

// turnMark is what is known of one member's changes. It outlives the process, so that a turn
// that goes on after a crash is held to what it changed before.
type turnMark struct {
	mu  sync.Mutex
	now int // the turn that is under way; 0: none

	Turn int              `json:"turn"`          // that From is of
	From written.Snapshot `json:"from,omitzero"` // the folder when the turn began; zero: not known, or the turn is over
	// Owed are the files that the member changed in earlier turns, as they were when its
	// last turn ended. A file that somebody has changed or committed since is owed no more.
	Owed map[string]written.State `json:"owed,omitempty"`
}

func newChangedFiles(w *sharedWrites, c *crew) *changedFiles {
	return &changedFiles{w: w, marks: map[string]*turnMark{}, asked: func() bool {
		state := c.live.now()
		return state != nil && namesPolicy(state.layers.sources, workCommitted)
	}}
}

// namesPolicy reports whether a hook or gate of some layers asks a policy.
func namesPolicy(sources []hooks.Source, name string) bool {
	for _, source := range sources {
		for _, groups := range source.Settings {
			for _, g := range groups {
				if slices.ContainsFunc(g.Hooks, func(h hooks.Handler) bool { return h.Policy == name }) {
					return true
				}
			}
		}
	}
	return false
}

// see takes in that a turn begins or ends. The member's goroutine calls it before anything
// follows. The turns of a helper are part of its member's.
func (f *changedFiles) see(ctx context.Context, s *seat, e teammate.Event) {
	if e.Helper != "" {
		return
	}
	switch e.Data.(type) {
	case teammate.TurnStarted:
		f.warn(ctx, s, f.begin(ctx, s, e.Turn))
	case teammate.TurnEnded:
		f.warn(ctx, s, f.end(ctx, s))
	}
}

// begin takes down how a member's folder stands. Of a turn that goes on that is known.
func (f *changedFiles) begin(ctx context.Context, s *seat, turn int) error {
	m := f.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = turn
	switch {
	case !f.asked():
		return nil
	case m.Turn == turn && !m.From.Time.IsZero():
		f.w.ledger(s).Keep(f.key(s), m.From.Time)
		return nil
	}
	return f.renew(ctx, s, m)
}

// renew takes a new snapshot to compare with; the mark's lock is held.
func (f *changedFiles) renew(ctx context.Context, s *seat, m *turnMark) error {
	m.From = written.Snapshot{}
	g, err := f.ground(ctx, s)
	if err != nil {
		return err
	}
	base, err := g.Head(ctx)
	if err != nil {
		return err
	}
	now, err := g.Take(ctx, written.Snapshot{Base: base}, nil)
	if err != nil {
		return err
	}
	m.Turn, m.From = m.now, now
	maps.DeleteFunc(m.Owed, func(path string, was written.State) bool { return !now.Of(path).Same(was) })
	f.w.ledger(s).Keep(f.key(s), m.From.Time)
	return f.save(s, m)
}

// end notes what a turn has changed. What cannot be found out is not owed.
func (f *changedFiles) end(ctx context.Context, s *seat) error {
	m := f.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = 0
	if m.From.Time.IsZero() {
		return nil
	}
	changed, now, err := f.changed(ctx, s, m)
	if ctx.Err() != nil {
		return nil // the run ends, and the turn goes on in the next one
	}
	if err == nil {
		owed := map[string]written.State{}
		for _, path := range changed {
			owed[path] = now.Of(path)
		}
		m.Owed = owed
	}
	m.From = written.Snapshot{}
	f.w.ledger(s).Release(f.key(s))
	return errors.Join(err, f.save(s, m))
}

// changed lists the files that a member has changed, committed or not, and how the folder
// stands now; the mark's lock is held.
func (f *changedFiles) changed(ctx context.Context, s *seat, m *turnMark) ([]string, written.Snapshot, error) {
	g, err := f.ground(ctx, s)
	if err != nil {
		return nil, written.Snapshot{}, err
	}
	now, err := g.Take(ctx, m.From, nil)
	if err != nil {
		return nil, now, err
	}
	if !ownCopy(s) {
		f.w.rest(s)
		f.w.beside(s)
	}
	found := maps.Clone(m.Owed)
	if found == nil {
		found = map[string]written.State{}
	}
	for _, path := range now.Since(m.From) {
		if ownCopy(s) || f.w.ledger(s).Only(s.member.Name, path, written.Trace{
			Print: g.PrintOf(path), At: g.When(path, m.From.Time),
		}) {
			found[path] = written.State{}
		}
	}
	return slices.Sorted(maps.Keys(found)), now, nil
}

// of lists the files that a member has changed, committed or not. Where it is not known how
// the folder stood when the turn began, because nothing asked for it then, the turn is
// looked at from now on.
func (f *changedFiles) of(ctx context.Context, s *seat) ([]string, error) {
	m := f.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == 0 {
		return slices.Sorted(maps.Keys(m.Owed)), nil
	}
	if m.From.Time.IsZero() {
		if err := f.renew(ctx, s, m); err != nil {
			return nil, err
		}
	}
	files, _, err := f.changed(ctx, s, m)
	return files, err
}

// ground is the folder that a member works in. A copy of its own may have been made anew
// in the same place, so that nothing is remembered of it.
func (f *changedFiles) ground(ctx context.Context, s *seat) (*written.Ground, error) {
	if ownCopy(s) {
		return f.w.newGround(ctx, s, filepath.Join(f.w.scratch, s.member.Name+".commits.index"))
	}
	return f.w.ground(ctx, s)
}

// key is under which the ledger of a shared folder keeps what a member's mark needs.
func (f *changedFiles) key(s *seat) string { return workCommitted + " " + s.member.Name }

// file is where a member's mark outlives the process.
func (f *changedFiles) file(s *seat) string {
	return filepath.Join(f.w.scratch, s.member.Name+".commits.json")
}

// markOf is the mark of a member, from its file if it is of an earlier run.
func (f *changedFiles) markOf(s *seat) *turnMark {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m, ok := f.marks[s.member.Name]; ok {
		return m
	}
	m := &turnMark{}
	data, err := os.ReadFile(f.file(s))
	if err != nil || json.Unmarshal(data, m) != nil {
		m = &turnMark{} // a damaged file says nothing
	}
	f.marks[s.member.Name] = m
	return m
}

// save keeps a mark; its lock is held.
func (f *changedFiles) save(s *seat, m *turnMark) error {
	if err := saveMark(f.file(s), m); err != nil {
		return fmt.Errorf("keep what %s has changed: %w", s.member.Name, err)
	}
	return nil
}

// warn tells people that the policy cannot tell what a member has changed.
func (f *changedFiles) warn(ctx context.Context, s *seat, err error) {
	if err != nil && ctx.Err() == nil {
		f.w.warn(s, "the policy %s does not know what %s has changed: %v", workCommitted, s.member.Name, err)
	}
}
