package writes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
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

	Team    func() *configs.Team // the current spec
	Members Members
	// CopyOf returns the top folder of a member's own working copy, and whether git knows
	// it; empty: it has none.
	CopyOf func(member string) (top string, inGit bool)
	// Asks reports whether a hook or gate of the team names a policy.
	Asks func(policy string) bool
}

// Members are the members of the team. The seats of the crew implement it.
type Members interface {
	Member(name string) (*members.Member, bool)
	// MemberOf returns the name of the member that an input of hooks is about; empty: none.
	MemberOf(in hooks.Input) string
	Turn(member string) int
}

// Watch decides what the file tools of members may write, and finds out what members have written.
type Watch struct {
	deps Deps

	mu      sync.Mutex
	folders map[string]*Folder // by folder
	turns   map[string]*Turns  // by member
	calls   map[string]string  // the files that calls name, by member and call
	said    map[string]bool    // warnings already given
}

// New returns the Watch of a team.
func New(deps Deps) *Watch {
	return &Watch{
		deps: deps, folders: map[string]*Folder{}, turns: map[string]*Turns{}, calls: map[string]string{}, said: map[string]bool{},
	}
}

// ownCopy reports whether a member has its own git working copy, where its branch shows
// what it has written.
func (w *Watch) ownCopy(member *members.Member) bool {
	_, inGit := w.deps.CopyOf(member.Name)
	return inGit
}

// Folder returns a member's folder.
func (w *Watch) Folder(ctx context.Context, member *members.Member) (*Folder, error) {
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
func (w *Watch) openFolder(ctx context.Context, member *members.Member, index string) (*Folder, error) {
	dir, err := filepath.EvalSymlinks(member.Dir)
	if err != nil {
		return nil, fmt.Errorf("read the written files: %w", err)
	}
	g := &Folder{Dir: dir, Index: index}
	if home, err := filepath.EvalSymlinks(w.deps.Home); err == nil { // it may be in a workspace such as a home directory
		if rel, ok := texts.Below(dir, home); ok {
			g.Except = rel
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

// warn tells people that the policy work-committed does not know what a member has changed, once per text.
func (w *Watch) warn(ctx context.Context, member *members.Member, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	text := fmt.Sprintf("the policy %s does not know what %s has changed: %v", CommittedPolicy, member.Name, err)
	w.mu.Lock()
	known := w.said[text]
	w.said[text] = true
	w.mu.Unlock()
	if !known {
		w.deps.Journal.Append(events.Event{Member: member.Name, Turn: w.deps.Members.Turn(member.Name), Data: events.Warning{Text: text}})
	}
}
