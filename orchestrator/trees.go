package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// keyTrees is where the store has the working copies: map of member to tree.
const keyTrees = "worktrees"

// keyBranches is where the store has the branches that the team has made and that were
// not removed since: a list of short names.
const keyBranches = "branches"

// rescues is where commits are kept of what was in a working copy that was removed.
const rescues = "refs/covey/rescue/"

// ownTree is the working copy of one member.
type ownTree struct {
	Top    string `json:"top"`            // its first folder; absolute, without links
	Root   string `json:"root"`           // where in it the member works: as the workspace lies in its repository
	Branch string `json:"branch"`         // its member's branch; empty: a hook made it, and git does not know it
	Base   string `json:"base,omitempty"` // the commit that it began from
	// ByHook says that a WorktreeCreate hook made it, in git's place.
	ByHook bool `json:"by_hook,omitempty"`
	// Ready says that files were copied into it and it has been set up.
	Ready bool `json:"ready,omitempty"`
}

// WorktreeChanged is sent when something happens to a member's working copy.
type WorktreeChanged struct {
	Op     string `json:"op"` // created, adopted, removed, kept, rescued
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`   // created: the commit that it begins from
	Ref    string `json:"ref,omitempty"`    // rescued: what holds the work now
	Reason string `json:"reason,omitempty"` // adopted, kept: why
}

// EventType is the journal's name for it.
func (WorktreeChanged) EventType() string { return "worktree" }

// trees are the working copies of a team. Their repository is one and the same.
// git itself is the truth about those that it made; the store remembers the rest.
type trees struct {
	o       *Orchestrator
	c       *crew
	dir     string          // where git's are; without links
	git     worktree.Git    // how git runs for the team
	repo    *worktree.Repo  // of the workspace; nil: there can be no working copies
	base    string          // the commit that new ones begin from
	fault   error           // why repo is nil
	user    worktree.Person // as git knows the user; zero: it does not
	unguard func()          // takes the guard of the stash off; nil: there is none
	once    sync.Once       // the settling of the first one, which tells people of the workspace

	mu    sync.Mutex
	by    map[string]ownTree // by member
	own   []string           // branches that the team has made
	early []agent.Event
	heard bool // the journal runs, so nothing is put into early any more
}

// openTrees finds out whether members can have working copies. The error wraps
// ErrSpec if one must have one and cannot.
func (o *Orchestrator) openTrees(ctx context.Context, c *crew) (*trees, error) {
	t := &trees{o: o, c: c, by: map[string]ownTree{}}
	t.git = o.gitOf(c, t.warn)
	if err := t.recall(ctx); err != nil {
		return t, err
	}
	dir, err := filepath.EvalSymlinks(o.place.Dir)
	if err != nil {
		return t, fmt.Errorf("state folder: %w", err)
	}
	t.dir = filepath.Join(dir, filepath.Base(o.place.Worktrees()))
	t.repo, t.base, t.fault = groundOf(ctx, t.git, o.team())
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	if err := refuseDemands(o.team(), t.fault, makesTrees(o.hooks())); err != nil {
		return t, err
	}
	if t.repo == nil {
		return t, nil
	}
	if t.user, err = t.repo.Config.User(ctx); err != nil {
		return t, fmt.Errorf("ask git who the user is: %w", err)
	}
	if err := t.guardStash(); err != nil {
		return t, err
	}
	if o.opts.Fresh {
		return t, t.forget(ctx)
	}
	return t, t.discover(ctx)
}

// recall reads what the store knows of working copies and branches, or, of a run that was
// forgotten, which branches it had.
func (t *trees) recall(ctx context.Context) error {
	if err := tasks.ReadValue(ctx, t.c.store, keyTrees, &t.by); err != nil {
		return err
	}
	if err := tasks.ReadValue(ctx, t.c.store, keyBranches, &t.own); err != nil {
		return err
	}
	t.own = append(t.own, t.o.left.branches...)
	for _, own := range t.by { // an older covey has noted no more
		t.own = append(t.own, own.Branch)
	}
	return nil
}

// made reports whether a branch is one that the team has made, in this run or earlier.
func (t *trees) made(branch string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.own, branch)
}

// acknowledge takes the branch that a copy in the team's folder is on for the team's, if
// it is one that its member could have got: a store that is gone knows of none.
func (t *trees) acknowledge(member, branch string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Contains(t.branchNames(member), branch) {
		t.own = append(t.own, branch)
	}
}

// claim remembers that a branch is the team's. It is called once git has made it: a kill
// in between costs a name, where the other order could take a branch that a person has
// made since.
func (t *trees) claim(ctx context.Context, branch string) error {
	return t.setBranches(ctx, func(all []string) []string {
		if slices.Contains(all, branch) {
			return all
		}
		return append(all, branch)
	})
}

// disclaim forgets a branch that was removed.
func (t *trees) disclaim(ctx context.Context, branch string) error {
	return t.setBranches(ctx, func(all []string) []string {
		return slices.DeleteFunc(all, func(b string) bool { return b == branch })
	})
}

// setBranches changes which branches are the team's, and stores them.
func (t *trees) setBranches(ctx context.Context, change func([]string) []string) error {
	t.mu.Lock()
	t.own = change(slices.Clone(t.own))
	all := slices.Clone(t.own)
	t.mu.Unlock()
	return t.c.store.Put(ctx, keyBranches, rawjson.Encode(all))
}

// discover takes note of working copies in the team's folder that a run was killed
// over before it could remember them.
func (t *trees) discover(ctx context.Context) error {
	copies, err := t.repo.Copies.List(ctx)
	for _, c := range copies {
		member := filepath.Base(c.Path)
		if _, known := t.by[member]; filepath.Dir(c.Path) == t.dir && !known && state.TeamName.MatchString(member) {
			t.by[member] = ownTree{Top: c.Path, Root: t.rootIn(c.Path), Branch: c.Branch}
			t.acknowledge(member, c.Branch)
		}
	}
	return errors.Join(err, t.unlock())
}

// unlock removes what gits have left in the team's own copies, branches and indexes that
// were killed with the last run. Nobody works there yet, and whoever did has been ended.
func (t *trees) unlock() error {
	locks, _ := filepath.Glob(filepath.Join(t.o.place.Scratch(), "*.lock")) // the pattern is a good one
	for _, path := range locks {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
	}
	var tops []string
	for _, own := range t.by {
		if !own.ByHook {
			tops = append(tops, own.Top)
		}
	}
	return t.repo.Copies.Unlock(tops, "covey/"+t.o.team().Name)
}

// canWrite reports whether a member can change files. A plan that is to be approved
// is a matter of when, not of whether.
func canWrite(m configs.Member) bool {
	if m.PermissionMode == configs.Plan {
		return false
	}
	return m.Tools == nil || slices.ContainsFunc(m.Tools, func(tool string) bool {
		return slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit", "Bash"}, tool)
	})
}

// isolationOf is where a member works: as its spec says, or in a working copy of its
// own if it is one of several who can write, and there can be such copies.
func isolationOf(m configs.Member, members []configs.Member, able bool) configs.Isolation {
	if m.Isolation != "" {
		return m.Isolation
	}
	writers := 0
	for _, other := range members {
		if canWrite(other) {
			writers++
		}
	}
	if able && canWrite(m) && writers > 1 {
		return configs.InWorktree
	}
	return configs.Shared
}

// settle finds the folder that a member works in, and makes it if it is to be a
// working copy. Its agent has not begun.
func (t *trees) settle(ctx context.Context, s *seat) error {
	s.member.Dir = t.o.team().Workspace
	if isolationOf(*s.member.Member, t.o.team().Members(), t.repo != nil) != configs.InWorktree {
		t.warnOfSharing(s)
		t.leave(ctx, s.member.Name)
		return nil
	}
	if _, had := t.known()[s.member.Name]; !had && t.o.opts.Merge != nil {
		return nil // nobody works in this run, so there is nothing to make a copy for
	}
	t.once.Do(func() { t.tellOfWorkspace(ctx) })
	own, err := t.plant(ctx, s)
	if err != nil {
		return fmt.Errorf("its working copy: %w", err)
	}
	s.member.Dir, s.tree = own.Root, &own
	return t.keep(ctx, s.member.Name, own)
}

// keep remembers a working copy.
func (t *trees) keep(ctx context.Context, member string, own ownTree) error {
	t.mu.Lock()
	t.by[member] = own
	all := maps.Clone(t.by)
	t.mu.Unlock()
	return t.c.store.Put(ctx, keyTrees, rawjson.Encode(all))
}

// drop forgets one.
func (t *trees) drop(ctx context.Context, member string) error {
	t.mu.Lock()
	delete(t.by, member)
	all := maps.Clone(t.by)
	t.mu.Unlock()
	return t.c.store.Put(ctx, keyTrees, rawjson.Encode(all))
}

// known are the working copies, by member.
func (t *trees) known() map[string]ownTree {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.by)
}

// tell puts something into the journal, or keeps it until the journal runs.
func (t *trees) tell(member string, data agent.EventData) {
	e := agent.Event{Member: member, Data: data}
	t.mu.Lock()
	waits := !t.heard
	if waits {
		t.early = append(t.early, e)
	}
	t.mu.Unlock()
	if !waits {
		t.c.journal.Append(e)
	}
}

// report puts into the journal what had to wait for it. A nil trees has nothing.
func (t *trees) report() {
	if t == nil {
		return
	}
	t.mu.Lock()
	waiting := t.early
	t.early, t.heard = nil, true
	t.mu.Unlock()
	for _, e := range waiting {
		t.c.journal.Append(e)
	}
}

// warn tells people of something.
func (t *trees) warn(format string, args ...any) {
	t.tell("", agent.Warning{Text: fmt.Sprintf(format, args...)})
}

// warnOfSharing says once why members who can write share the workspace though it
// lies in a repository: whoever relies on the default wants to know.
func (t *trees) warnOfSharing(s *seat) {
	members := t.o.team().Members()
	if t.fault == nil || s.member.Isolation != "" || isolationOf(*s.member.Member, members, true) != configs.InWorktree {
		return
	}
	if !inRepository(t.o.team().Workspace) {
		return
	}
	t.once.Do(func() {
		t.warn("several members can write, and they share the workspace: %v; isolation: shared says that they may", t.fault)
	})
}

// tellOfWorkspace warns of changes that nobody will see in a working copy.
func (t *trees) tellOfWorkspace(ctx context.Context) {
	if t.repo == nil {
		return
	}
	if dirty, err := t.repo.Dirty(ctx); err == nil && len(dirty) > 0 {
		t.warn("the workspace has changes that no commit holds (%d); members' working copies begin from commit %.10s, "+
			"without them", len(dirty), t.base)
	}
}
