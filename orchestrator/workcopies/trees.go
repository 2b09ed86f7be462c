package workcopies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// Hooks runs the hooks of the team.
type Hooks interface {
	Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error)
	Sources() []settings.Source // the current ones
}

// Deps are what Trees needs from its team.
type Deps struct {
	Place     state.Place
	Store     *tasks.Store
	Journal   *state.Journal
	Processes *process.Processes
	Clock     members.Clock
	Functions *hooks.Registry // gets the hook of guardGit
	Hooks     Hooks
	Environ   []string                     // environment of setup commands
	EnvOf     func(member string) []string // what is added to it for one member; nil: nothing
	Slots     *state.Slots                 // each setup command takes one
	// Box returns the box of a setup command, with variables for it, in a copy under a sandbox of the spec;
	// nil: none. It may be nil.
	Box func(s configs.Sandbox, name, dir, line string) (*sandbox.Box, []string, error)
	// GitBox returns the box of covey's own git in a member's copy, and a folder for its indexes; nil: none. It may
	// be nil.
	GitBox func(member, top string) (*sandbox.Box, string, error)

	Team    func() *configs.Team     // the current spec
	Filters func() []worktree.Filter // filters that git may run

	Fresh    bool    // the earlier run is forgotten (`up --fresh`)
	Left     Remains // from the forgotten run
	MakeNone bool    // no member works in this run: existing copies are kept as they are
}

// environ returns the environment of a member's setup commands.
func (d Deps) environ(member string) []string {
	if d.EnvOf == nil {
		return d.Environ
	}
	return slices.Concat(d.Environ, d.EnvOf(member))
}

// Trees are the working copies of a team's members. The zero value is for a team that
// shares the workspace; create any other with New.
type Trees struct {
	deps    Deps
	dir     string          // folder of git's copies; without symlinks
	git     worktree.Git    // how git runs for the team
	ground  ground          // what copies are created from
	base    *worktree.Base  // what clones borrow from; nil: ground has no repository
	user    worktree.Person // git's configured user; zero: none
	unguard func()          // removes the hook of guardGit; nil: there is none
	first   sync.Once       // warns of uncommitted changes before the first copy
	notices *notices
	record  record
	ports   portBlocks
}

// New returns the Trees of a team. No member has a copy before Open.
func New(deps Deps) *Trees {
	t := &Trees{
		deps: deps, notices: &notices{journal: deps.Journal},
		record: record{store: deps.Store, known: map[string]Tree{}, members: map[string]*members.Member{}},
	}
	t.git = gitOf(deps, t.notices.warn)
	if deps.GitBox != nil {
		t.git.Inside = t.inside
	}
	return t
}

// inside is worktree.Git.Inside: what a member has configured in the copy that covey has made for it runs in its box.
func (t *Trees) inside(dir string) (*sandbox.Box, string, error) {
	for name, own := range t.record.all() {
		if own.InGit() && !own.ByHook && texts.Within(own.Top, dir) {
			return t.deps.GitBox(name, own.Top)
		}
	}
	return nil, "", nil
}

// gitOf returns how git runs in the team's own process. Its processes carry the team's
// mark, have no rights at the control socket, and belong to no member.
func gitOf(deps Deps, warn func(format string, args ...any)) worktree.Git {
	var mu sync.Mutex
	said := map[string]bool{}
	return worktree.Git{
		Env:     []string{deps.Place.Mark()},
		Filters: deps.Filters,
		Started: func(pid int) func() { return deps.Processes.Register(pid, process.Owner{Kind: process.Unowned}) },
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

// GitFor returns how git runs for a team in another process. Its processes carry the
// team's mark, and have no rights at the team's control socket.
func GitFor(p state.Place, filters []worktree.Filter) worktree.Git {
	return worktree.Git{Env: []string{p.Mark()}, Filters: func() []worktree.Filter { return filters }}
}

// Open determines whether members can have working copies, and which exist. The error
// wraps configs.ErrSpec if a member must have one and cannot. Call it once, before any member
// is settled.
func (t *Trees) Open(ctx context.Context) error {
	if err := t.record.recall(ctx, t.deps.Left.branches); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(t.deps.Place.Dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	t.dir = filepath.Join(dir, filepath.Base(t.deps.Place.Worktrees()))
	t.ground = groundOf(ctx, t.git, t.deps.Team())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := refuseDemands(t.deps.Team(), t.ground.fault, MadeByHook(t.deps.Hooks.Sources())); err != nil {
		return err
	}
	if t.ground.repo == nil {
		return nil
	}
	if err := refuseLinked(ctx, t.ground.repo, t.dir); err != nil {
		return err
	}
	t.base = baseIn(dir, t.ground.repo)
	if t.user, err = t.ground.repo.User(ctx); err != nil {
		return fmt.Errorf("read git's user: %w", err)
	}
	if t.unguard, err = t.guardGit(); err != nil {
		return err
	}
	if err := t.discover(ctx); err != nil || !t.deps.Fresh {
		return err
	}
	return t.forget(ctx)
}

// Close removes the hook that Open registered, and frees the ports of the working copies.
func (t *Trees) Close() {
	t.ports.close()
	if t.unguard != nil {
		t.unguard()
	}
}

// Begin writes to the journal what happened before it ran. It implements crew.Starter.
func (t *Trees) Begin(context.Context) error {
	t.notices.begin()
	return nil
}

// Repo returns the workspace's repository; nil: working copies are not possible.
func (t *Trees) Repo() *worktree.Repo { return t.ground.repo }

// Git returns how git runs for the team.
func (t *Trees) Git() worktree.Git { return t.git }

// refuseLinked returns an error if a covey before 0.1 has made working copies in a folder, as
// linked worktrees.
func refuseLinked(ctx context.Context, repo *worktree.Repo, dir string) error {
	copies, err := repo.LinkedCopies(ctx)
	if err != nil {
		return fmt.Errorf("list working copies: %w", err)
	}
	for _, c := range copies {
		if filepath.Dir(c.Path) == dir && IsFolder(c.Path) {
			return texts.Errorf(configs.ErrSpec, "the working copy %s was made by an older covey, which this one does not continue: "+
				"commit there what you need, remove it with `git -C %s worktree remove %[1]s`, and merge its branch %[3]s",
				c.Path, repo.Top, c.Branch)
		}
	}
	return nil
}

// Remote returns the remote that keeps what must outlive this host. Open must have found a repository.
func (t *Trees) Remote(ctx context.Context) (*worktree.Remote, error) { return t.base.Remote(ctx) }

// CheckRemote returns an error if finished work of a team must outlive this host, but cannot be pushed.
func CheckRemote(ctx context.Context, team *configs.Team) error {
	if !team.Bus.Given() {
		return nil
	}
	repo, err := worktree.Git{}.Open(ctx, team.Workspace)
	if err == nil {
		_, err = repo.RemoteURL(ctx)
	}
	if err != nil {
		return fmt.Errorf("bus needs a repository with a remote, to which finished work is pushed: %w; git remote add origin URL names one", err)
	}
	return nil
}

// baseIn returns the base of a team whose state folder is dir.
func baseIn(dir string, repo *worktree.Repo) *worktree.Base {
	return repo.Base(filepath.Join(dir, "base.git"), filepath.Base(dir))
}

// clones lists the members that have a folder below dir, which holds the copies that covey made.
func clones(dir string) ([]string, error) {
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, state.FolderError(err)
	}
	var names []string
	for _, e := range found {
		if e.IsDir() && state.IsTeamName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// discover finds working copies in the team's folder that a killed run created but did
// not record, and removes what a kill has left of others. No member works yet, and all earlier
// processes were killed.
func (t *Trees) discover(ctx context.Context) error {
	if err := errors.Join(worktree.Unfinished(t.dir), putBack(t.dir)); err != nil {
		return err
	}
	names, err := clones(t.dir)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if err := t.base.Refresh(ctx); err != nil { // nothing in them can be read without it
			return err
		}
	}
	for _, member := range names {
		path := filepath.Join(t.dir, member)
		if _, known := t.record.all()[member]; known {
			continue
		}
		_, head, err := t.base.Open(ctx, path, "")
		if errors.Is(err, worktree.ErrNoRepo) {
			continue // adopt puts it aside
		}
		if err != nil {
			return fmt.Errorf("the working copy %s: %w", path, err)
		}
		own := Tree{Top: path, Root: t.ground.rootIn(path), Branch: t.branchOf(ctx, path, head)}
		t.record.remember(member, own)
		// A kill may have come before the branch was made.
		begin := worktree.Step{To: head.Commit, Why: "covey: a working copy begins"}
		err = t.ground.repo.Move(ctx, "refs/heads/"+own.Branch, begin)
		if err == nil || t.base.Shows(ctx, path, own.Branch) {
			t.record.acknowledge(own.Branch, t.branchNames(member))
		} else if _, missing := t.ground.repo.Commit(ctx, head.Commit); errors.Is(missing, worktree.ErrNoRef) {
			return texts.Errorf(configs.ErrSpec, "the working copy %s is of another repository than %s, which was made anew or has lost commits: "+
				"save the files that you need, delete that folder, and run covey up again", path, t.ground.repo.Top)
		} else if !errors.Is(err, worktree.ErrMoved) {
			return fmt.Errorf("the working copy %s: %w", path, err)
		}
	}
	return t.unlock()
}

// branchOf returns the branch by which people see a working copy that the store does not know: one of
// those that its member can have got.
func (t *Trees) branchOf(ctx context.Context, path string, head worktree.Head) string {
	names := t.branchNames(filepath.Base(path))
	if slices.Contains(names, head.Branch) {
		return head.Branch
	}
	for _, name := range names {
		if t.base.Shows(ctx, path, name) {
			return name
		}
	}
	return names[0]
}

// unlock removes the locks of gits that were killed with the last run, in the team's
// own copies, branches and indexes.
func (t *Trees) unlock() error {
	locks, _ := filepath.Glob(filepath.Join(t.deps.Place.Scratch(), "*.lock")) // the pattern is valid
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
	return t.base.Unlock(tops, "covey/"+t.deps.Team().Name)
}

// open opens a working copy that git knows.
func (t *Trees) open(ctx context.Context, own Tree) (*worktree.Repo, worktree.Head, error) {
	if own.ByHook {
		return t.ground.repo.AtHead(ctx, own.Top)
	}
	return t.base.Open(ctx, own.Top, own.Branch)
}

// Copy opens the working copy of a member, and returns what it has checked out; nil: it works in the
// workspace, or in a folder that git does not know.
func (t *Trees) Copy(ctx context.Context, member string) (*worktree.Repo, worktree.Head, error) {
	own, has := t.Of(member)
	if !has || !own.InGit() || t.base == nil {
		return nil, worktree.Head{}, nil
	}
	return t.open(ctx, own)
}

// AssignDir sets the Dir of a member, and creates its working copy if it is to have one.
// Call it before the member's agent starts.
func (t *Trees) AssignDir(ctx context.Context, m *members.Member) error {
	team := t.deps.Team()
	m.Dir = team.Workspace
	t.record.addMember(m)
	if isolationOf(*m.Member, team, t.ground.repo != nil) != configs.InWorktree {
		t.warnOfSharing(m)
		t.leave(ctx, m.Name)
		return nil
	}
	if _, had := t.record.all()[m.Name]; !had && t.deps.MakeNone {
		return nil
	}
	t.first.Do(func() { t.tellOfWorkspace(ctx) })
	own, err := t.plant(ctx, m)
	if err != nil {
		return fmt.Errorf("its working copy: %w", err)
	}
	if _, err := t.TakePorts(own.Root); err != nil {
		return fmt.Errorf("its working copy: %w", err)
	}
	return t.record.assignCopy(ctx, m, own)
}

// Of returns the working copy that a member works in; false: it works in the workspace.
func (t *Trees) Of(member string) (Tree, bool) { return t.record.of(member) }

// TakePorts gives the working copy in dir the ports that the spec asks for, unless it has them, and
// returns the variables that name them. The copy keeps them until it is removed, or until Close.
func (t *Trees) TakePorts(dir string) ([]string, error) {
	return t.ports.take(dir, t.deps.Team().Worktree.Ports)
}

// Ports returns the variables that name the ports of a member's working copy; nil: it has none.
func (t *Trees) Ports(member string) []string {
	own, _ := t.Of(member)
	return t.ports.of(own.Root)
}

// Beyond returns the folder of a member's working copy that a hook made and git cannot merge; empty:
// it has none.
func (t *Trees) Beyond(member string) string {
	if own, ok := t.Of(member); ok && !own.InGit() {
		return own.Root
	}
	return ""
}

// TopOf returns the top folder of a member's own copy, and whether git knows it; empty: it has none.
func (t *Trees) TopOf(member string) (top string, inGit bool) {
	own, _ := t.Of(member)
	return own.Top, own.Branch != ""
}

// Tops returns the top folders of the working copies, by member.
func (t *Trees) Tops() map[string]string {
	tops := map[string]string{}
	for name, own := range t.record.all() {
		tops[name] = own.Top
	}
	return tops
}

// Share brings the branches of the operator's repository to the working copy of a member, if it has
// one.
func (t *Trees) Share(ctx context.Context, member string) error {
	copy, head, err := t.Copy(ctx, member)
	if err != nil || copy == nil {
		return err
	}
	return copy.Share(ctx, head)
}

// Refresh brings the branches of the operator's repository to where working copies can fetch them, if
// there are any.
func (t *Trees) Refresh(ctx context.Context) error {
	for _, own := range t.record.all() {
		if !own.ByHook && t.base != nil {
			return t.base.Refresh(ctx)
		}
	}
	return nil
}

// warnOfSharing warns once that members that can write share the workspace although it
// is in a repository, because users may rely on the default.
func (t *Trees) warnOfSharing(m *members.Member) {
	team := t.deps.Team()
	if t.ground.fault == nil || m.Isolation != "" || isolationOf(*m.Member, team, true) != configs.InWorktree {
		return
	}
	t.first.Do(func() {
		if !inRepository(team.Workspace) {
			return
		}
		t.notices.warn("several members can write, and they share the workspace: %v; isolation: shared allows that",
			t.ground.fault)
	})
}

// tellOfWorkspace warns of uncommitted changes, which working copies will not contain, and of a
// hook that does not run.
func (t *Trees) tellOfWorkspace(ctx context.Context) {
	if t.ground.repo == nil {
		return
	}
	if text := uncheckedHook(ctx, t.ground.repo, t.deps.Team()); text != "" {
		t.notices.warn("%s", text)
	}
	if dirty, err := t.ground.repo.Dirty(ctx); err == nil && len(dirty) > 0 {
		t.notices.warn("the workspace has uncommitted changes (%d); members' working copies start from commit %.10s, "+
			"without them", len(dirty), t.ground.base)
	}
}
