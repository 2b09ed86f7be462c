package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/orchestrator/written"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
)

// sharedWrites finds out what members have really written who have no git working copy
// of their own, and holds it against `owns` and `protect`: how their folder stood is taken
// down when a turn begins, and compared at its end and when a task is completed. Several
// write there at once, and people too; written.Ledger says whose doing a change was, if
// it can be told. A member is charged with what nobody else can have done.
type sharedWrites struct {
	c       *crew
	team    func() *configs.Team
	scratch string
	home    string // where covey keeps the state of teams
	past    *pastWrites
	// copyOf reports whether a member works in a copy of its own, and whether git knows it.
	copyOf func(member string) (own, inGit bool)

	mu      sync.Mutex
	grounds map[string]*written.Ground // by folder
	ledgers map[string]*written.Ledger // by folder
	marks   map[string]*mark           // by member
	calls   map[string]announced       // by member and call
	lingers map[string][]string        // calls that have left something running, by member
	said    map[string]bool            // warnings that people have had

	changes *changedFiles
}

// mark is what is known of the writing of one member.
type mark struct {
	mu sync.Mutex

	From    written.Snapshot  `json:"from"` // how the folder stood when it was last looked at
	Charges map[string]charge `json:"charges,omitempty"`
}

// charge is a write that its member has to answer for, until it is undone, somebody who
// may has written over it, or a person lets it be.
type charge struct {
	Was written.State `json:"was"`
	Now written.State `json:"now"`
}

// newSharedWrites makes it for a crew whose team may change its spec. past is what the
// journal knows of earlier runs.
func newSharedWrites(o *Orchestrator, c *crew, past *pastWrites) *sharedWrites {
	w := &sharedWrites{
		c: c, team: o.team, scratch: o.place.Scratch(), home: filepath.Dir(o.place.Dir), past: past, grounds: map[string]*written.Ground{},
		ledgers: map[string]*written.Ledger{}, marks: map[string]*mark{}, calls: map[string]announced{},
		lingers: map[string][]string{}, said: map[string]bool{}, copyOf: c.copyOf,
	}
	w.changes = newChangedFiles(w, c)
	if c.asks != nil {
		c.asks.closed[requests.AskAttention] = w.acquit
	}
	return w
}

// ownCopy reports whether a member works in a git copy of its own, where its branch says
// what it has written.
func (w *sharedWrites) ownCopy(s *seat) bool {
	_, inGit := w.copyOf(s.member.Name)
	return inGit
}

// watches reports whether there is something that a member may not write, where nothing
// but looking at its folder tells.
func (w *sharedWrites) watches(s *seat) bool {
	return !w.ownCopy(s) && (s.member.Owns != nil || len(w.protect(s)) > 0)
}

// protect are the globs of what a member may write with a person's permission alone. A copy of its own,
// whoever made it, is merged by somebody who looks at it.
func (w *sharedWrites) protect(s *seat) []string {
	if own, _ := w.copyOf(s.member.Name); own {
		return nil
	}
	return w.team().Protect
}

// mayWrite reports whether a member may write to a path below its folder.
func (w *sharedWrites) mayWrite(s *seat, path string) bool {
	return len(merging.Outside(s.member.Owns, []string{path}))+len(merging.Protected(w.protect(s),
		[]string{path})) == 0
}

// ledger is who could write when in a member's folder.
func (w *sharedWrites) ledger(s *seat) *written.Ledger { return w.ledgerOf(s.member.Dir) }

func (w *sharedWrites) ledgerOf(dir string) *written.Ledger {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, ok := w.ledgers[dir]
	if !ok {
		l = &written.Ledger{}
		w.ledgers[dir] = l
	}
	return l
}

// landing notes that covey itself writes into the workspace, until landed is called: work
// that was merged comes into the files of whoever has the branch checked out.
func (w *sharedWrites) landing() (landed func()) {
	l := w.ledgerOf(w.team().Workspace)
	l.Begin(written.Hooks, "merge", time.Now())
	return func() { l.End(written.Hooks, "merge", time.Now()) }
}

// ground is a member's folder.
func (w *sharedWrites) ground(ctx context.Context, s *seat) (*written.Ground, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g, ok := w.grounds[s.member.Dir]; ok {
		return g, nil
	}
	g, err := w.newGround(ctx, s, filepath.Join(w.scratch, fmt.Sprintf("shared%d.index", len(w.grounds))))
	if err == nil {
		w.grounds[s.member.Dir] = g
	}
	return g, err
}

// newGround looks at a member's folder as it is now. index is a file of the ground's own.
func (w *sharedWrites) newGround(ctx context.Context, s *seat, index string) (*written.Ground, error) {
	dir, err := filepath.EvalSymlinks(s.member.Dir)
	if err != nil {
		return nil, fmt.Errorf("look at what was written: %w", err)
	}
	g := &written.Ground{Dir: dir, Index: index}
	if home, err := filepath.EvalSymlinks(w.home); err == nil { // it may lie in a workspace such as a home folder
		if rel, err := filepath.Rel(dir, home); err == nil && filepath.IsLocal(rel) {
			g.Except = filepath.ToSlash(rel)
		}
	}
	g.Walk = func(ctx context.Context, visit func(string) error) error {
		err := tools.Files(ctx, dir, visit)
		if errors.Is(err, tools.ErrTime) {
			return fmt.Errorf("%w: %s: %w", written.ErrTooLarge, dir, err)
		}
		return err
	}
	if trees.InRepository(dir) {
		g.Repo, err = w.c.trees.Git().Open(ctx, dir)
		if err != nil && !errors.Is(err, worktree.ErrNoRepo) && !errors.Is(err, worktree.ErrNoGit) {
			return nil, err
		}
	}
	return g, nil
}

// markOf is the mark of a member, from its file if it is of an earlier run.
func (w *sharedWrites) markOf(s *seat) *mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m, ok := w.marks[s.member.Name]; ok {
		return m
	}
	m := &mark{}
	data, err := os.ReadFile(w.file(s))
	if err != nil || json.Unmarshal(data, m) != nil {
		m = &mark{} // what was torn says nothing
	}
	w.marks[s.member.Name] = m
	return m
}

// file is where a member's mark outlives the process.
func (w *sharedWrites) file(s *seat) string {
	return filepath.Join(w.scratch, s.member.Name+".written.json")
}

// save keeps a mark; its lock is held.
func (w *sharedWrites) save(s *seat, m *mark) error {
	if err := written.Save(w.file(s), m); err != nil {
		return fmt.Errorf("keep what %s has written: %w", s.member.Name, err)
	}
	return nil
}

// begin takes down how things stand when a turn begins. Of one that goes on after a crash
// that ought to be known already; where it is not, people are told.
func (w *sharedWrites) begin(ctx context.Context, s *seat, cause agent.Cause) {
	if !w.watches(s) {
		return
	}
	m := w.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	known := !m.From.Time.IsZero()
	if cause == agent.ByResume && !known {
		w.warn(s, "what %s had written in the turn that goes on is not known, and not held against owns and protect",
			s.member.Name)
	}
	w.fault(ctx, s, w.renew(ctx, s, m, known))
}

// renew begins a new time to look at; the mark's lock is held. What is still charged
// goes on being held against the same commit.
func (w *sharedWrites) renew(ctx context.Context, s *seat, m *mark, known bool) error {
	g, err := w.ground(ctx, s)
	if err != nil {
		return err
	}
	if known {
		if err := w.collect(ctx, s, m); err != nil {
			return err
		}
	}
	head, err := g.Head(ctx)
	if err != nil {
		return err
	}
	if !known || head != m.From.Base && len(m.Charges) == 0 {
		m.From.Base = head
		if m.From, err = g.Take(ctx, m.From, w.protect(s)); err != nil {
			m.From = written.Snapshot{}
			return err
		}
	}
	w.ledger(s).Keep(s.member.Name, m.From.Time)
	return w.save(s, m)
}

// collect takes in what was written since the mark was last looked at, whose lock is held.
func (w *sharedWrites) collect(ctx context.Context, s *seat, m *mark) error {
	g, err := w.ground(ctx, s)
	if err != nil {
		return err
	}
	w.rest(s)
	now, err := g.Take(ctx, m.From, w.protect(s))
	if err != nil {
		return err
	}
	for _, path := range now.Since(m.From) {
		if !w.mayWrite(s, path) {
			w.judge(s, m, change{
				path: path, was: m.From.Of(path), now: now.Of(path), at: g.When(path,
					m.From.Time), print: g.PrintOf(path),
			})
		}
	}
	for path, c := range m.Charges {
		if now.Of(path).Same(c.Was) || w.mayWrite(s, path) {
			delete(m.Charges, path)
		}
	}
	m.From = now
	return w.save(s, m)
}

// beside are the members that work in a member's folder, itself among them, by name. The
// ledger knows of their earlier runs then.
func (w *sharedWrites) beside(s *seat) map[string]*seat {
	beside := map[string]*seat{}
	for _, other := range w.c.seats() {
		if other.member.Dir == s.member.Dir {
			beside[other.member.Name] = other
			w.ledger(s).Add(w.past.of(other))
		}
	}
	return beside
}

// change is one path that was written to.
type change struct {
	path     string
	was, now written.State
	print    written.Print
	at       time.Time
}

// judge charges a member with a change, if it is nobody else's. What cannot be told apart
// is told to people, and held against nobody.
func (w *sharedWrites) judge(s *seat, m *mark, ch change) {
	beside := w.beside(s)
	r := w.ledger(s).Judge(written.Question{
		Path: ch.path, Print: ch.print, At: ch.at, Me: s.member.Name,
		May: func(who string) bool { o, ok := beside[who]; return ok && w.mayWrite(o, ch.path) },
	})
	old, charged := m.Charges[ch.path]
	switch {
	case r.Mine:
		if m.Charges == nil {
			m.Charges = map[string]charge{}
		}
		if charged {
			ch.was = old.Was
		}
		m.Charges[ch.path] = charge{Was: ch.was, Now: ch.now}
	case len(r.Suspects) > 0:
		w.warn(s, "%s was written to, where none of those who could have done it may: %s; nobody is held up for it",
			ch.path, strings.Join(r.Suspects, ", "))
	case charged:
		delete(m.Charges, ch.path) // somebody else has taken it over
	}
}

// charges are what a member has to answer for now: paths outside of what it owns, and
// others that are protected, in order.
func (w *sharedWrites) charges(ctx context.Context, s *seat) (outside, protected []string, err error) {
	m := w.markOf(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.From.Time.IsZero() {
		return nil, nil, w.renew(ctx, s, m, false)
	}
	if err := w.collect(ctx, s, m); err != nil {
		return nil, nil, err
	}
	for path := range m.Charges {
		if len(merging.Outside(s.member.Owns, []string{path})) > 0 {
			outside = append(outside, path)
		} else {
			protected = append(protected, path)
		}
	}
	slices.Sort(outside)
	slices.Sort(protected)
	return outside, protected, nil
}

// warn tells people of something, the same once.
func (w *sharedWrites) warn(s *seat, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.mu.Lock()
	known := w.said[text]
	w.said[text] = true
	w.mu.Unlock()
	if !known {
		w.c.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: agent.Warning{Text: text}})
	}
}

// fault tells people of trouble that keeps nobody from working.
func (w *sharedWrites) fault(ctx context.Context, s *seat, err error) {
	if err != nil && ctx.Err() == nil {
		w.warn(s, "owns and protect hold for calls only: %v", err)
	}
}
