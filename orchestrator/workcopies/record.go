package workcopies

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
)

// keyTrees is the store key of the working copies: a map from member to Tree.
const keyTrees = "worktrees"

// Tree is the working copy of one member.
type Tree struct {
	Top    string `json:"top"`            // top folder; absolute, without symlinks
	Root   string `json:"root"`           // where the member works: at the path of the workspace in its repository
	Branch string `json:"branch"`         // the member's branch; empty: created by a hook, not known to git
	Base   string `json:"base,omitempty"` // the commit that it started from
	// ByHook means that a WorktreeCreate hook created it.
	ByHook bool `json:"by_hook,omitempty"`
	// Ready means that its files were copied and its setup has run.
	Ready bool `json:"ready,omitempty"`
}

// InGit reports whether it is a working copy of the workspace's repository.
func (t Tree) InGit() bool { return t.Branch != "" || t.Base != "" }

// ByHooks returns the members whose working copies of the repository hooks made, by the top folders of
// these.
func ByHooks(ctx context.Context, store *tasks.Store) (map[string]string, error) {
	var known map[string]Tree
	if err := tasks.ReadValue(ctx, store, keyTrees, &known); err != nil {
		return nil, fmt.Errorf("read the working copies: %w", err)
	}
	members := map[string]string{}
	for name, own := range known {
		if own.ByHook && own.InGit() {
			members[own.Top] = name
		}
	}
	return members, nil
}

// record knows which member works in which working copy, and which branches the team created, in
// this run or earlier. Copies and branches are stored.
type record struct {
	store  *tasks.Store
	saving sync.Mutex // held from reading what to store until it is stored; taken before mu

	mu      sync.Mutex
	known   map[string]Tree            // by member, including former ones
	members map[string]*members.Member // by name, from settle until depart

	branches []string
}

// recall reads the copies and the branches from the store, and adds branches of a forgotten run.
func (r *record) recall(ctx context.Context, forgotten []string) error {
	err := tasks.ReadValue(ctx, r.store, keyTrees, &r.known)
	if err == nil {
		err = tasks.ReadValue(ctx, r.store, keyBranches, &r.branches)
	}
	r.branches = append(r.branches, forgotten...)
	return err
}

// addMember records that a member has its folder, which is its Dir.
func (r *record) addMember(m *members.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[m.Name] = m
}

// assignCopy records that a settled member works in a copy.
func (r *record) assignCopy(ctx context.Context, m *members.Member, own Tree) error {
	r.mu.Lock()
	m.Dir = own.Root
	r.mu.Unlock()
	return r.keep(ctx, m.Name, own)
}

// removeMember removes a member, but not its copy.
func (r *record) removeMember(member string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.members, member)
}

// member returns a settled member; false if it was not settled, or has departed.
func (r *record) member(member string) (*members.Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.members[member]
	return m, ok
}

// of returns the copy that a member works in; false: it works in the workspace.
//
// A member that was moved to the workspace keeps its copy in the record until the copy is
// removed; its Dir tells where it works.
func (r *record) of(member string) (Tree, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, own := r.members[member], r.known[member]
	if m == nil || own.Root == "" || m.Dir != own.Root {
		return Tree{}, false
	}
	return own, true
}

// ofSession returns the copy that the member of a session works in; false: it works in the workspace.
func (r *record) ofSession(session string) (Tree, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, m := range r.members {
		if own := r.known[name]; m.Session.Session == session && own.Root != "" && m.Dir == own.Root {
			return own, true
		}
	}
	return Tree{}, false
}

// remember records a copy without storing it, because git knows it.
func (r *record) remember(member string, own Tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[member] = own
}

// keep records and stores a copy.
func (r *record) keep(ctx context.Context, member string, own Tree) error {
	r.remember(member, own)
	return r.save(ctx)
}

// drop removes a copy.
func (r *record) drop(ctx context.Context, member string) error {
	r.mu.Lock()
	delete(r.known, member)
	r.mu.Unlock()
	return r.save(ctx)
}

// save stores the copies. Members' goroutines call it at once; without the lock an older
// map could be stored last. mu is not held meanwhile, so that nobody who reads waits for
// the disk.
func (r *record) save(ctx context.Context) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	return r.store.Put(ctx, keyTrees, texts.Encode(r.all()))
}

// all returns the copies by member.
func (r *record) all() map[string]Tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.known)
}

// each iterates over the copies, ordered by member.
func (r *record) each() iter.Seq2[string, Tree] {
	return func(yield func(string, Tree) bool) {
		all := r.all()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}
