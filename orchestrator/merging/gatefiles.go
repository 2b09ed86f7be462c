package merging

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// gateFilesKey is the store key of the gates' files.
const gateFilesKey = "gate-files"

// gateFiles are the files that appeared in working copies while gates ran, such as __pycache__ and
// coverage, or are leftovers of the members' own tests, by the copy's top folder. They are not
// committed, unless a call of the member names them. A nil *gateFiles has none.
type gateFiles struct {
	store *tasks.Store
	warn  func(error)
	tell  func(top string, w events.Warning)

	mu   sync.Mutex
	read bool
	made map[string]map[string]bool // false: the member has named it
	// wanted has the files that calls of this run have written or added: the top folder, and a name.
	wanted map[[2]string]bool
}

// of returns the files in a copy that no call has named.
func (g *gateFiles) of(ctx context.Context, copy *worktree.Repo) map[string]bool {
	if g == nil {
		return nil
	}
	fresh, err := copy.Untracked(ctx)
	g.warn(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recall(ctx)
	folders := map[string]bool{}
	g.add(ctx, copy.Top, "a test or a build made", slices.DeleteFunc(fresh, func(file string) bool {
		return g.wanted[[2]string{copy.Top, path.Base(file)}] || !leftover(copy.Top, file, folders)
	}))
	left := map[string]bool{}
	for file, out := range g.made[copy.Top] {
		if out {
			left[file] = true
		}
	}
	return left
}

// recall reads what an earlier run has stored. The caller holds g.mu.
func (g *gateFiles) recall(ctx context.Context) {
	if !g.read {
		g.made, g.read = map[string]map[string]bool{}, true
		g.warn(tasks.ReadValue(ctx, g.store, gateFilesKey, &g.made))
	}
}

// appeared compares the trees of a copy before and after a gate.
func (g *gateFiles) appeared(ctx context.Context, copy *worktree.Repo, before, after string) {
	changes, err := copy.Changed(ctx, before, after)
	if err != nil {
		g.warn(fmt.Errorf("which files a gate has made: %w", err))
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recall(ctx)
	var files []string
	for _, c := range changes {
		if c.Kind == 'A' {
			files = append(files, c.Path)
		}
	}
	g.add(ctx, copy.Top, "a gate made", files)
}

// add adds files that nobody has named, and tells once who made them. The caller holds g.mu.
func (g *gateFiles) add(ctx context.Context, top, who string, files []string) {
	files = slices.DeleteFunc(files, func(file string) bool {
		_, known := g.made[top][file]
		return known
	})
	if len(files) == 0 {
		return
	}
	if g.made[top] == nil {
		g.made[top] = map[string]bool{}
	}
	for _, file := range files {
		g.made[top][file] = true
	}
	g.warn(g.store.Put(ctx, gateFilesKey, texts.Encode(g.made)))
	g.tell(top, events.Warning{Text: who + " " + texts.Few(files, 3) + ": not committed, because git does not ignore " +
		"them and no call of the member names them; an entry in .gitignore says that for good"})
}

// called marks the files that the input of a member's call names, by path or by name, and those that it
// wants.
func (g *gateFiles) called(ctx context.Context, top string, c events.ToolCalled) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recall(ctx)
	names, input := wanted(c), string(c.Input)
	for _, name := range names {
		g.wanted[[2]string{top, name}] = true
	}
	changed := false
	for file, out := range g.made[top] {
		named := out && (strings.Contains(input, file) || strings.Contains(input, path.Base(file)))
		if named && (slices.Contains(names, path.Base(file)) || !leftover(top, file, map[string]bool{})) { // go test -coverprofile=c.out wants no c.out
			g.made[top][file], changed = false, true
		}
	}
	if changed {
		g.warn(g.store.Put(ctx, gateFilesKey, texts.Encode(g.made)))
	}
}

// Saw takes note of a member's calls. It implements crew.Watcher.
func (d *Merger) Saw(ctx context.Context, m *members.Member, e events.Event) error {
	if call, ok := e.Data.(events.ToolCalled); ok {
		if own, has := d.deps.Trees.Of(m.Name); has {
			d.made.called(ctx, own.Top, call)
		}
	}
	return nil
}

// dirty reports whether a member's working copy has uncommitted changes other than files of gates.
func (q *Queue) dirty(ctx context.Context, copy *worktree.Repo) (bool, error) {
	list, err := copy.Dirty(ctx)
	left := q.made.of(ctx, copy)
	if err != nil || len(list) == 0 || len(left) == 0 {
		return len(list) > 0, err
	}
	state, err := copy.State(ctx, "")
	if err != nil {
		return true, err
	}
	changes, err := copy.Changed(ctx, state.Head.Tree, state.Tree)
	return len(state.Beyond)+len(state.Withheld) > 0 || slices.ContainsFunc(changes, func(c worktree.Change) bool {
		return !left[c.Path]
	}), err
}

// ChangedSomething is the policy changed-something: it refuses while a member has changed no file in
// its working copy since its last finished task. It says nothing of a member without one: who has
// changed a file in a shared folder is not always known.
func (d *Merger) ChangedSomething(ctx context.Context, in hooks.Input) hooks.Result {
	m, ok := d.deps.Members.SessionOf(in.SessionID)
	if !ok {
		return runner.Agree()
	}
	copy, own, err := d.copyOf(ctx, m.Name)
	if err != nil || !own {
		return orBroken(err)
	}
	changed, err := d.queue.changedSince(ctx, m.Name, copy)
	if err != nil || changed {
		return orBroken(err)
	}
	return runner.Refuse("You have changed no file for this task. Make the change that it asks for; if it needs none, " +
		"say why to the lead, who can delete the task.")
}

// orBroken returns the result of a policy that does not refuse.
func orBroken(err error) hooks.Result {
	if err != nil {
		return runner.Broken(err)
	}
	return runner.Agree()
}

// changedSince reports whether a copy has changes after the end of its member's last piece of work.
func (q *Queue) changedSince(ctx context.Context, member string, copy *worktree.Repo) (bool, error) {
	_, tip, err := q.tip(ctx)
	if err != nil {
		return false, fmt.Errorf("what %s has changed: %w", member, err)
	}
	state, err := copy.State(ctx, "")
	if err != nil {
		return false, fmt.Errorf("what %s has changed: %w", member, err)
	}
	earlier, err := q.Store.Merges().List(ctx)
	if err != nil {
		return false, fmt.Errorf("what %s has changed: %w", member, err)
	}
	// A piece that ends at the head is the last one; what came in from others since is no change.
	from := state.Head.Commit
	if !slices.ContainsFunc(earlier, func(e tasks.Merge) bool { return e.Member == member && e.Commit == from }) {
		if _, err := copy.Publish(ctx, state.Head); err != nil {
			return false, fmt.Errorf("what %s has changed: %w", member, err)
		}
		if from, _, err = q.from(ctx, tasks.Merge{Member: member, Commit: state.Head.Commit}, nil, tip, earlier); err != nil {
			return false, fmt.Errorf("what %s has changed: %w", member, err)
		}
	}
	changes, err := q.own(ctx, copy, member, from, state.Tree)
	left := q.made.of(ctx, copy)
	return len(state.Beyond)+len(state.Withheld) > 0 ||
		slices.ContainsFunc(changes, func(c worktree.Change) bool { return !left[c.Path] }), err
}
