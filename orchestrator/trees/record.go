package trees

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
)

// keyTrees is where the store has the working copies: map of member to Tree.
const keyTrees = "worktrees"

// Tree is the working copy of one member.
type Tree struct {
	Top    string `json:"top"`            // its first folder; absolute, without links
	Root   string `json:"root"`           // where in it the member works: as the workspace lies in its repository
	Branch string `json:"branch"`         // its member's branch; empty: a hook made it, and git does not know it
	Base   string `json:"base,omitempty"` // the commit that it began from
	// ByHook says that a WorktreeCreate hook made it, in git's place.
	ByHook bool `json:"by_hook,omitempty"`
	// Ready says that files were copied into it and it has been set up.
	Ready bool `json:"ready,omitempty"`
}

// record is who works in which working copy. The store has what is known of the copies.
type record struct {
	store *tasks.Store

	mu      sync.Mutex
	known   map[string]Tree           // by member, those of former members included
	members map[string]*roster.Member // by name, those that were settled and have not departed
}

// recall reads the copies from the store.
func (r *record) recall(ctx context.Context) error {
	return tasks.ReadValue(ctx, r.store, keyTrees, &r.known)
}

// settle notes that a member has a folder, that of its Dir.
func (r *record) settle(m *roster.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[m.Name] = m
}

// moveIn has a member that was settled work in a copy.
func (r *record) moveIn(ctx context.Context, m *roster.Member, own Tree) error {
	r.mu.Lock()
	m.Dir = own.Root
	r.mu.Unlock()
	return r.keep(ctx, m.Name, own)
}

// depart forgets a member, not its copy.
func (r *record) depart(member string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.members, member)
}

// settled is a member that was settled; false: there is none, or it has departed.
func (r *record) settled(member string) (*roster.Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.members[member]
	return m, ok
}

// of is the copy that a member works in; false: it works in the workspace.
func (r *record) of(member string) (Tree, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, own := r.members[member], r.known[member]
	if m == nil || own.Root == "" || m.Dir != own.Root {
		return Tree{}, false
	}
	return own, true
}

// branchOf is the branch that the member of a session works on; empty: none.
func (r *record) branchOf(session string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, m := range r.members {
		if own := r.known[name]; m.Session.Session == session && m.Dir == own.Root {
			return own.Branch
		}
	}
	return ""
}

// note takes a copy down that the store need not have: git knows it.
func (r *record) note(member string, own Tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[member] = own
}

// keep remembers a copy.
func (r *record) keep(ctx context.Context, member string, own Tree) error {
	r.note(member, own)
	return r.save(ctx)
}

// drop forgets one.
func (r *record) drop(ctx context.Context, member string) error {
	r.mu.Lock()
	delete(r.known, member)
	r.mu.Unlock()
	return r.save(ctx)
}

// save stores which copies there are.
func (r *record) save(ctx context.Context) error {
	return r.store.Put(ctx, keyTrees, notation.Encode(r.all()))
}

// all are the copies, by member.
func (r *record) all() map[string]Tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.known)
}

// each goes through the copies by member, in order.
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
