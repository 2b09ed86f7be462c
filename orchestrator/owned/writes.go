package owned

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
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
)

// Options are what Writes need of the team that they belong to.
type Options struct {
	Scratch string // folder for files of a running team
	Home    string // where covey keeps the state of teams
	Journal *journal.Journal
	Git     worktree.Git
	Past    *Past // what the journal knows of earlier runs

	Team     func() *configs.Team                        // the team's spec as it is now
	Members  func() []*roster.Member                     // in the order of the spec
	MemberOf func(in hooks.Input) (*roster.Member, bool) // whom a hook is about
	Turn     func(member string) int
	// CopyOf reports whether a member works in a copy of its own, and whether git knows it.
	CopyOf func(member string) (own, inGit bool)
	// Lingers reports whether calls of a member's tools have left something running.
	Lingers func(member string) bool
	// OnBranch lists the files outside of what a member owns in which its branch, or what
	// it has not committed, differs from the branch that its work is for.
	OnBranch func(ctx context.Context, member *roster.Member) (outside []string, into string, err error)
	People   People
	// Asks reports whether a hook or gate of the team names a policy.
	Asks func(policy string) bool
}

// Writes finds out what members have really written who have no git working copy
// of their own, and holds it against `owns` and `protect`: how their folder stood is taken
// down when a turn begins, and compared at its end and when a task is completed. Several
// write there at once, and people too; Ledger says whose doing a change was, if
// it can be told. A member is charged with what nobody else can have done.
type Writes struct {
	opts Options

	mu      sync.Mutex
	grounds map[string]*Ground   // by folder
	ledgers map[string]*Ledger   // by folder
	marks   map[string]*mark     // by member
	calls   map[string]announced // by member and call
	lingers map[string][]string  // calls that have left something running, by member
	said    map[string]bool      // warnings that people have had

	changes *changedFiles
}

// mark is what is known of the writing of one member.
type mark struct {
	mu sync.Mutex

	From    Snapshot          `json:"from"` // how the folder stood when it was last looked at
	Charges map[string]charge `json:"charges,omitempty"`
}

// charge is a write that its member has to answer for, until it is undone, somebody who
// may has written over it, or a person lets it be.
type charge struct {
	Was State `json:"was"`
	Now State `json:"now"`
}

// New makes the Writes of a team.
func New(opts Options) *Writes {
	w := &Writes{
		opts: opts, grounds: map[string]*Ground{},
		ledgers: map[string]*Ledger{}, marks: map[string]*mark{}, calls: map[string]announced{},
		lingers: map[string][]string{}, said: map[string]bool{},
	}
	w.changes = &changedFiles{w: w, turns: map[string]*Turns{}}
	return w
}

// ownCopy reports whether a member works in a git copy of its own, where its branch says
// what it has written.
func (w *Writes) ownCopy(member *roster.Member) bool {
	_, inGit := w.opts.CopyOf(member.Name)
	return inGit
}

// watches reports whether there is something that a member may not write, where nothing
// but looking at its folder tells.
func (w *Writes) watches(member *roster.Member) bool {
	return !w.ownCopy(member) && (member.Owns != nil || len(w.protect(member)) > 0)
}

// protect are the globs of what a member may write with a person's permission alone. A copy of its own,
// whoever made it, is merged by somebody who looks at it.
func (w *Writes) protect(member *roster.Member) []string {
	if own, _ := w.opts.CopyOf(member.Name); own {
		return nil
	}
	return w.opts.Team().Protect
}

// mayWrite reports whether a member may write to a path below its folder.
func (w *Writes) mayWrite(member *roster.Member, path string) bool {
	return len(Outside(member.Owns, []string{path}))+len(Protected(w.protect(member),
		[]string{path})) == 0
}

// ledger is who could write when in a folder.
func (w *Writes) ledger(dir string) *Ledger {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, ok := w.ledgers[dir]
	if !ok {
		l = &Ledger{}
		w.ledgers[dir] = l
	}
	return l
}

// Landing notes that covey itself writes into the workspace, until landed is called: work
// that was merged comes into the files of whoever has the branch checked out.
func (w *Writes) Landing() (landed func()) {
	l := w.ledger(w.opts.Team().Workspace)
	l.Begin(Hooks, "merge", time.Now())
	return func() { l.End(Hooks, "merge", time.Now()) }
}

// Ground is a member's folder.
func (w *Writes) Ground(ctx context.Context, member *roster.Member) (*Ground, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g, ok := w.grounds[member.Dir]; ok {
		return g, nil
	}
	g, err := w.newGround(ctx, member, filepath.Join(w.opts.Scratch, fmt.Sprintf("shared%d.index", len(w.grounds))))
	if err == nil {
		w.grounds[member.Dir] = g
	}
	return g, err
}

// newGround looks at a member's folder as it is now. index is a file of the ground's own.
func (w *Writes) newGround(ctx context.Context, member *roster.Member, index string) (*Ground, error) {
	dir, err := filepath.EvalSymlinks(member.Dir)
	if err != nil {
		return nil, fmt.Errorf("look at what was written: %w", err)
	}
	g := &Ground{Dir: dir, Index: index}
	if home, err := filepath.EvalSymlinks(w.opts.Home); err == nil { // it may lie in a workspace such as a home folder
		if rel, err := filepath.Rel(dir, home); err == nil && filepath.IsLocal(rel) {
			g.Except = filepath.ToSlash(rel)
		}
	}
	g.Walk = func(ctx context.Context, visit func(string) error) error {
		err := tools.Files(ctx, dir, visit)
		if errors.Is(err, tools.ErrTime) {
			return fmt.Errorf("%w: %s: %w", ErrTooLarge, dir, err)
		}
		return err
	}
	if worktree.InRepository(dir) {
		g.Repo, err = w.opts.Git.Open(ctx, dir)
		if err != nil && !errors.Is(err, worktree.ErrNoRepo) && !errors.Is(err, worktree.ErrNoGit) {
			return nil, err
		}
	}
	return g, nil
}

// markOf is the mark of a member, from its file if it is of an earlier run.
func (w *Writes) markOf(member *roster.Member) *mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m, ok := w.marks[member.Name]; ok {
		return m
	}
	m := &mark{}
	data, err := os.ReadFile(w.file(member))
	if err != nil || json.Unmarshal(data, m) != nil {
		m = &mark{} // what was torn says nothing
	}
	w.marks[member.Name] = m
	return m
}

// file is where a member's mark outlives the process.
func (w *Writes) file(member *roster.Member) string {
	return filepath.Join(w.opts.Scratch, member.Name+".written.json")
}

// save keeps a mark; its lock is held.
func (w *Writes) save(member *roster.Member, m *mark) error {
	if err := Save(w.file(member), m); err != nil {
		return fmt.Errorf("keep what %s has written: %w", member.Name, err)
	}
	return nil
}

// begin takes down how things stand when a turn begins. Of one that goes on after a crash
// that ought to be known already; where it is not, people are told.
func (w *Writes) begin(ctx context.Context, member *roster.Member, cause agent.Cause) {
	if !w.watches(member) {
		return
	}
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	known := !m.From.Time.IsZero()
	if cause == agent.ByResume && !known {
		w.warn(member, "what %s had written in the turn that goes on is not known, and not held against owns and protect",
			member.Name)
	}
	w.fault(ctx, member, w.renew(ctx, member, m, known))
}

// renew begins a new time to look at; the mark's lock is held. What is still charged
// goes on being held against the same commit.
func (w *Writes) renew(ctx context.Context, member *roster.Member, m *mark, known bool) error {
	g, err := w.Ground(ctx, member)
	if err != nil {
		return err
	}
	if known {
		if err := w.collect(ctx, member, m); err != nil {
			return err
		}
	}
	head, err := g.Head(ctx)
	if err != nil {
		return err
	}
	if !known || head != m.From.Base && len(m.Charges) == 0 {
		m.From.Base = head
		if m.From, err = g.Take(ctx, m.From, w.protect(member)); err != nil {
			m.From = Snapshot{}
			return err
		}
	}
	w.ledger(member.Dir).Keep(member.Name, m.From.Time)
	return w.save(member, m)
}

// collect takes in what was written since the mark was last looked at, whose lock is held.
func (w *Writes) collect(ctx context.Context, member *roster.Member, m *mark) error {
	g, err := w.Ground(ctx, member)
	if err != nil {
		return err
	}
	w.rest(member)
	now, err := g.Take(ctx, m.From, w.protect(member))
	if err != nil {
		return err
	}
	for _, path := range now.Since(m.From) {
		if !w.mayWrite(member, path) {
			w.judge(member, m, change{
				path: path, was: m.From.Of(path), now: now.Of(path), at: g.When(path,
					m.From.Time), print: g.PrintOf(path),
			})
		}
	}
	for path, c := range m.Charges {
		if now.Of(path).Same(c.Was) || w.mayWrite(member, path) {
			delete(m.Charges, path)
		}
	}
	m.From = now
	return w.save(member, m)
}

// beside are the members that work in a member's folder, itself among them, by name. The
// ledger knows of their earlier runs then.
func (w *Writes) beside(member *roster.Member) map[string]*roster.Member {
	beside := map[string]*roster.Member{}
	for _, other := range w.opts.Members() {
		if other.Dir == member.Dir {
			beside[other.Name] = other
			w.ledger(member.Dir).Add(w.opts.Past.of(other))
		}
	}
	return beside
}

// change is one path that was written to.
type change struct {
	path     string
	was, now State
	print    Print
	at       time.Time
}

// judge charges a member with a change, if it is nobody else's. What cannot be told apart
// is told to people, and held against nobody.
func (w *Writes) judge(member *roster.Member, m *mark, ch change) {
	beside := w.beside(member)
	r := w.ledger(member.Dir).Judge(Question{
		Path: ch.path, Print: ch.print, At: ch.at, Me: member.Name,
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
		w.warn(member, "%s was written to, where none of those who could have done it may: %s; nobody is held up for it",
			ch.path, strings.Join(r.Suspects, ", "))
	case charged:
		delete(m.Charges, ch.path) // somebody else has taken it over
	}
}

// charges are what a member has to answer for now: paths outside of what it owns, and
// others that are protected, in order.
func (w *Writes) charges(ctx context.Context, member *roster.Member) (outside, protected []string, err error) {
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.From.Time.IsZero() {
		return nil, nil, w.renew(ctx, member, m, false)
	}
	if err := w.collect(ctx, member, m); err != nil {
		return nil, nil, err
	}
	for path := range m.Charges {
		if len(Outside(member.Owns, []string{path})) > 0 {
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
func (w *Writes) warn(member *roster.Member, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.mu.Lock()
	known := w.said[text]
	w.said[text] = true
	w.mu.Unlock()
	if !known {
		w.opts.Journal.Append(agent.Event{Member: member.Name, Turn: w.opts.Turn(member.Name), Data: agent.Warning{Text: text}})
	}
}

// fault tells people of trouble that keeps nobody from working.
func (w *Writes) fault(ctx context.Context, member *roster.Member, err error) {
	if err != nil && ctx.Err() == nil {
		w.warn(member, "owns and protect hold for calls only: %v", err)
	}
}
