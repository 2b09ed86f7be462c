package writes

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
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/teammate/builtin/tools"
)

// Deps are what Watch needs from its team.
type Deps struct {
	Scratch string // folder for files of a running team
	Home    string // folder of the states of teams
	Journal *state.Journal
	Git     worktree.Git
	Past    *Past // what the journal recorded of earlier runs

	Team    func() *configs.Team // the current spec
	Members Members
	// CopyOf returns the top folder of a member's own working copy, and whether git knows
	// it; empty: it has none.
	CopyOf func(member string) (top string, inGit bool)
	People People
	// Asks reports whether a hook or gate of the team names a policy.
	Asks func(policy string) bool
}

// Members are the members of the team. The seats of the crew implement it.
type Members interface {
	Member(name string) (*members.Member, bool)
	Members() []*members.Member // in the order of the spec
	// MemberOf returns the name of the member that an input of hooks is about; empty: none.
	MemberOf(in hooks.Input) string
	Turn(member string) int
	// HasBackground reports whether calls of a member's tools left processes running.
	HasBackground(member string) bool
}

// Watch finds out what members without their own git working copy have written, and
// checks it against `owns` and `protect`: it records the state of their folder when a
// turn begins, and compares it at the end of the turn and when a task is completed.
// Several members and people write there concurrently; Log says who made a change,
// if that can be decided. A member is charged only with changes that nobody else can
// have made.
type Watch struct {
	deps Deps

	mu      sync.Mutex
	folders map[string]*SharedFolder // by folder
	logs    map[string]*Log          // by folder
	marks   map[string]*mark         // by member
	calls   map[string]announced     // by member and call
	lingers map[string][]string      // calls that left processes running, by member
	said    map[string]bool          // warnings already given

	changes *changedFiles
}

// mark is what is known of one member's writes.
type mark struct {
	mu sync.Mutex

	From    Snapshot          `json:"from"` // the folder at the last look
	Charges map[string]charge `json:"charges,omitempty"`
}

// charge is a write that its member has to answer for, until it is undone, a writer who
// may has overwritten it, or a person allows it.
type charge struct {
	Was State `json:"was"`
	Now State `json:"now"`
}

// New returns the Watch of a team.
func New(deps Deps) *Watch {
	w := &Watch{
		deps: deps, folders: map[string]*SharedFolder{},
		logs: map[string]*Log{}, marks: map[string]*mark{}, calls: map[string]announced{},
		lingers: map[string][]string{}, said: map[string]bool{},
	}
	w.changes = &changedFiles{w: w, turns: map[string]*Turns{}}
	return w
}

// ownCopy reports whether a member has its own git working copy, where its branch shows
// what it has written.
func (w *Watch) ownCopy(member *members.Member) bool {
	_, inGit := w.deps.CopyOf(member.Name)
	return inGit
}

// watches reports whether a member may not write everywhere, and only reading its
// folder can tell what it wrote.
func (w *Watch) watches(member *members.Member) bool {
	return !w.ownCopy(member) && (member.Owns != nil || len(w.protect(member)) > 0)
}

// protect returns the globs of files that a member may write only with a person's
// permission. Its own copy, whoever made it, is merged by somebody who reviews it.
func (w *Watch) protect(member *members.Member) []string {
	if top, _ := w.deps.CopyOf(member.Name); top != "" {
		return nil
	}
	return w.deps.Team().Protect
}

// mayWrite reports whether a member may write to a path below its folder.
func (w *Watch) mayWrite(member *members.Member, path string) bool {
	return len(Outside(member.Owns, []string{path}))+len(Protected(w.protect(member),
		[]string{path})) == 0
}

// log returns the log of a folder.
func (w *Watch) log(dir string) *Log {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, ok := w.logs[dir]
	if !ok {
		l = &Log{}
		w.logs[dir] = l
	}
	return l
}

// Landing records that covey itself writes into the workspace, until landed is called:
// merged work updates the files where its branch is checked out.
func (w *Watch) Landing() (landed func()) {
	l := w.log(w.deps.Team().Workspace)
	l.Begin(Hooks, "merge", time.Now())
	return func() { l.End(Hooks, "merge", time.Now()) }
}

// Folder returns a member's folder.
func (w *Watch) Folder(ctx context.Context, member *members.Member) (*SharedFolder, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g, ok := w.folders[member.Dir]; ok {
		return g, nil
	}
	g, err := w.openFolder(ctx, member, filepath.Join(w.deps.Scratch, fmt.Sprintf("shared%d.index", len(w.folders))))
	if err == nil {
		w.folders[member.Dir] = g
	}
	return g, err
}

// openFolder opens a member's folder. index is a file for this folder alone.
func (w *Watch) openFolder(ctx context.Context, member *members.Member, index string) (*SharedFolder, error) {
	dir, err := filepath.EvalSymlinks(member.Dir)
	if err != nil {
		return nil, fmt.Errorf("read the written files: %w", err)
	}
	g := &SharedFolder{Dir: dir, Index: index}
	if home, err := filepath.EvalSymlinks(w.deps.Home); err == nil { // it may be in a workspace such as a home directory
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
		g.Repo, err = w.deps.Git.Open(ctx, dir)
		if err != nil && !errors.Is(err, worktree.ErrNoRepo) && !errors.Is(err, worktree.ErrNoGit) {
			return nil, fmt.Errorf("open the repository of %s: %w", dir, err)
		}
	}
	return g, nil
}

// markOf returns the mark of a member, read from its file after a restart.
func (w *Watch) markOf(member *members.Member) *mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m, ok := w.marks[member.Name]; ok {
		return m
	}
	m := &mark{}
	data, err := os.ReadFile(w.file(member))
	if err != nil || json.Unmarshal(data, m) != nil {
		m = &mark{} // a damaged file counts as empty
	}
	w.marks[member.Name] = m
	return m
}

// file returns the file of a member's mark.
func (w *Watch) file(member *members.Member) string {
	return filepath.Join(w.deps.Scratch, member.Name+".written.json")
}

// save stores a mark; its lock is held.
func (w *Watch) save(member *members.Member, m *mark) error {
	if err := Save(w.file(member), m); err != nil {
		return fmt.Errorf("store what %s has written: %w", member.Name, err)
	}
	return nil
}

// begin records the state of the folder when a turn begins. For a turn that continues
// after a crash it should be known; if not, people are warned.
func (w *Watch) begin(ctx context.Context, member *members.Member, cause events.Cause) {
	if !w.watches(member) {
		return
	}
	m := w.markOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	known := !m.From.Time.IsZero()
	if cause == events.ByResume && !known {
		w.warn(member, "what %s had written in the interrupted turn is not known, and not checked against owns and protect",
			member.Name)
	}
	w.fault(ctx, member, w.renew(ctx, member, m, known))
}

// renew starts a new period; the mark's lock is held. Existing charges are still
// compared with the same commit.
func (w *Watch) renew(ctx context.Context, member *members.Member, m *mark, known bool) error {
	g, err := w.Folder(ctx, member)
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
	w.log(member.Dir).Keep(member.Name, m.From.Time)
	return w.save(member, m)
}

// collect reads what was written since the last look; the mark's lock is held.
func (w *Watch) collect(ctx context.Context, member *members.Member, m *mark) error {
	g, err := w.Folder(ctx, member)
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

// sharing returns the members that work in a member's folder, including itself, by
// name. After that the log knows of their earlier runs.
func (w *Watch) sharing(member *members.Member) map[string]*members.Member {
	sharers := map[string]*members.Member{}
	for _, other := range w.deps.Members.Members() {
		if other.Dir == member.Dir {
			sharers[other.Name] = other
			w.log(member.Dir).Add(w.deps.Past.of(other))
		}
	}
	return sharers
}

// change is one path that was written.
type change struct {
	path     string
	was, now State
	print    Print
	at       time.Time
}

// judge charges a member with a change if only it can have made it. If that cannot be
// decided, people are told and nobody is charged.
func (w *Watch) judge(member *members.Member, m *mark, ch change) {
	sharers := w.sharing(member)
	r := w.log(member.Dir).Judge(Question{
		Path: ch.path, Print: ch.print, At: ch.at, Me: member.Name,
		May: func(who string) bool { o, ok := sharers[who]; return ok && w.mayWrite(o, ch.path) },
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
		w.warn(member, "%s was written by one of %s, none of whom may; covey cannot tell which, so it refuses nobody's work",
			ch.path, strings.Join(r.Suspects, ", "))
	case charged:
		delete(m.Charges, ch.path) // another writer has overwritten it
	}
}

// charges returns the current charges of a member: paths outside of what it owns, and
// others that are protected, in order.
func (w *Watch) charges(ctx context.Context, member *members.Member) (outside, protected []string, err error) {
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

// warn tells people something, once per text.
func (w *Watch) warn(member *members.Member, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.mu.Lock()
	known := w.said[text]
	w.said[text] = true
	w.mu.Unlock()
	if !known {
		w.deps.Journal.Append(events.Event{Member: member.Name, Turn: w.deps.Members.Turn(member.Name), Data: events.Warning{Text: text}})
	}
}

// fault tells people of an error that stops nobody's work.
func (w *Watch) fault(ctx context.Context, member *members.Member, err error) {
	if err != nil && ctx.Err() == nil {
		w.warn(member, "owns and protect are checked for calls only: %v", err)
	}
}
