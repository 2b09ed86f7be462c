package trees

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// Changed is sent when something happens to a member's working copy.
type Changed struct {
	Op     string `json:"op"` // created, adopted, removed, kept, rescued
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`   // created: the commit that it begins from
	Ref    string `json:"ref,omitempty"`    // rescued: what holds the work now
	Reason string `json:"reason,omitempty"` // adopted, kept: why
}

// EventType is the journal's name for it.
func (Changed) EventType() string { return "worktree" }

// Hooks are the hooks of the team.
type Hooks interface {
	Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error)
	Sources() []settings.Source // those that count now
}

// Options are what Trees need of the team that they belong to.
type Options struct {
	Place     state.Place
	Store     *tasks.Store
	Journal   *journal.Journal
	Processes *process.Processes
	Clock     routine.Clock
	Functions *hooks.Registry // takes the hook that refuses git stash
	Hooks     Hooks
	Environ   []string // of the commands that set up a copy

	Team    func() *configs.Team     // the team's spec as it is now
	Filters func() []worktree.Filter // filters that git may run
	// Attention says that a member needs a person's attention, and why.
	Attention func(ctx context.Context, member, why string)

	Fresh    bool    // the earlier run is forgotten
	Left     Remains // of the run that is forgotten
	MakeNone bool    // nobody works in this run: members keep the copies that they have
}

// Trees are the working copies of a team's members. The zero value is for a team in
// which everybody works in the workspace; make any other with New.
type Trees struct {
	opts     Options
	dir      string          // where git's copies are; without links
	git      worktree.Git    // how git runs for the team
	ground   ground          // what copies are made of
	user     worktree.Person // as git knows the user; zero: it does not
	unguard  func()          // removes the hook that refuses git stash; nil: there is none
	first    sync.Once       // the first copy, before which people are told of the workspace
	notices  *notices
	branches *branches
	record   record
}

// New makes the Trees of a team. Nobody has a copy before Open.
func New(opts Options) *Trees {
	t := &Trees{
		opts: opts, notices: &notices{journal: opts.Journal}, branches: &branches{store: opts.Store},
		record: record{store: opts.Store, known: map[string]Tree{}, members: map[string]*roster.Member{}},
	}
	t.git = gitOf(opts, t.notices.warn)
	return t
}

// gitOf is how git runs in the team's own process. What it starts is known for the
// team's, has no rights at the team's control socket, and is registered as nobody's.
func gitOf(opts Options, warn func(format string, args ...any)) worktree.Git {
	var mu sync.Mutex
	said := map[string]bool{}
	return worktree.Git{
		Env:     []string{opts.Place.Mark()},
		Filters: opts.Filters,
		Started: func(pid int) func() { return opts.Processes.Register(pid, process.Owner{Kind: process.Stray}) },
		Withheld: func(w worktree.Withheld) {
			mu.Lock()
			first := !said[w.String()]
			said[w.String()] = true
			mu.Unlock()
			if first {
				warn("%s", w)
			}
		},
	}
}

// GitFor is how git runs on behalf of a team in another process than the team's. What it
// starts is known for the team's, and has no rights at the team's control socket.
func GitFor(p state.Place, filters []worktree.Filter) worktree.Git {
	return worktree.Git{Env: []string{p.Mark()}, Filters: func() []worktree.Filter { return filters }}
}

// Open finds out whether members can have working copies, and which they have already.
// The error wraps ErrSpec if one must have one and cannot. It is called once, before
// any member is settled.
func (t *Trees) Open(ctx context.Context) error {
	if err := t.recall(ctx); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(t.opts.Place.Dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	t.dir = filepath.Join(dir, filepath.Base(t.opts.Place.Worktrees()))
	t.ground = groundOf(ctx, t.git, t.opts.Team())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := refuseDemands(t.opts.Team(), t.ground.fault, makesTrees(t.opts.Hooks.Sources())); err != nil {
		return err
	}
	if t.ground.repo == nil {
		return nil
	}
	if t.user, err = t.ground.repo.Config.User(ctx); err != nil {
		return fmt.Errorf("ask git who the user is: %w", err)
	}
	if t.unguard, err = refuseStash(t.opts.Functions, t.record.branchOf); err != nil {
		return err
	}
	if t.opts.Fresh {
		return t.forget(ctx)
	}
	return t.discover(ctx)
}

// Close removes what Open has put into other hands.
func (t *Trees) Close() {
	if t.unguard != nil {
		t.unguard()
	}
}

// Begin puts into the journal what happened before it ran.
func (t *Trees) Begin() { t.notices.begin() }

// Repo is the workspace's repository; nil: there can be no working copies.
func (t *Trees) Repo() *worktree.Repo { return t.ground.repo }

// Git is how git runs for the team.
func (t *Trees) Git() worktree.Git { return t.git }

// recall reads what the store knows of working copies and branches, or, of a run that was
// forgotten, which branches it had.
func (t *Trees) recall(ctx context.Context) error {
	if err := t.record.recall(ctx); err != nil {
		return err
	}
	also := slices.Clone(t.opts.Left.branches)
	for _, own := range t.record.all() { // an older covey has noted no more
		also = append(also, own.Branch)
	}
	return t.branches.recall(ctx, also)
}

// discover takes note of working copies in the team's folder that a run was killed
// over before it could remember them.
func (t *Trees) discover(ctx context.Context) error {
	copies, err := t.ground.repo.Copies.List(ctx)
	for _, c := range copies {
		member := filepath.Base(c.Path)
		if _, known := t.record.all()[member]; filepath.Dir(c.Path) == t.dir && !known && state.TeamName.MatchString(member) {
			t.record.note(member, Tree{Top: c.Path, Root: t.ground.rootIn(c.Path), Branch: c.Branch})
			t.branches.acknowledge(c.Branch, t.branchNames(member))
		}
	}
	return errors.Join(err, t.unlock())
}

// unlock removes what gits have left in the team's own copies, branches and indexes that
// were killed with the last run. Nobody works there yet, and whoever did has been ended.
func (t *Trees) unlock() error {
	locks, _ := filepath.Glob(filepath.Join(t.opts.Place.Scratch(), "*.lock")) // the pattern is a good one
	for _, path := range locks {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
	}
	var tops []string
	for _, own := range t.record.all() {
		if !own.ByHook {
			tops = append(tops, own.Top)
		}
	}
	return t.ground.repo.Copies.Unlock(tops, "covey/"+t.opts.Team().Name)
}

// Settle finds the folder that a member works in, and makes it if it is to be a working
// copy: the member's Dir is set. Its agent has not begun.
func (t *Trees) Settle(ctx context.Context, m *roster.Member) error {
	team := t.opts.Team()
	m.Dir = team.Workspace
	t.record.settle(m)
	if isolationOf(*m.Member, team.Members(), t.ground.repo != nil) != configs.InWorktree {
		t.warnOfSharing(m)
		t.leave(ctx, m.Name)
		return nil
	}
	if _, had := t.record.all()[m.Name]; !had && t.opts.MakeNone {
		return nil
	}
	t.first.Do(func() { t.tellOfWorkspace(ctx) })
	own, err := t.plant(ctx, m)
	if err != nil {
		return fmt.Errorf("its working copy: %w", err)
	}
	return t.record.moveIn(ctx, m, own)
}

// Of is the working copy that a member works in; false: it works in the workspace.
func (t *Trees) Of(member string) (Tree, bool) { return t.record.of(member) }

// warnOfSharing says once why members who can write share the workspace though it
// lies in a repository: whoever relies on the default wants to know.
func (t *Trees) warnOfSharing(m *roster.Member) {
	team := t.opts.Team()
	if t.ground.fault == nil || m.Isolation != "" || isolationOf(*m.Member, team.Members(), true) != configs.InWorktree {
		return
	}
	if !inRepository(team.Workspace) {
		return
	}
	t.first.Do(func() {
		t.notices.warn("several members can write, and they share the workspace: %v; isolation: shared says that they may",
			t.ground.fault)
	})
}

// tellOfWorkspace warns of changes that nobody will see in a working copy.
func (t *Trees) tellOfWorkspace(ctx context.Context) {
	if t.ground.repo == nil {
		return
	}
	if dirty, err := t.ground.repo.Dirty(ctx); err == nil && len(dirty) > 0 {
		t.notices.warn("the workspace has changes that no commit holds (%d); members' working copies begin from commit %.10s, "+
			"without them", len(dirty), t.ground.base)
	}
}
