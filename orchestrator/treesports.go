package orchestrator

import (
	"context"
	"os"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// newTrees returns the manager of the members' working copies; no member has one yet.
func newTrees(o *Orchestrator, r *rooms) *workcopies.Trees {
	return workcopies.New(workcopies.Options{
		Place: o.place, Store: r.store, Journal: r.journal, Processes: r.processes, Clock: r.clock,
		Functions: r.hooks.live.Functions, Hooks: &r.hooks.live, Environ: launch.ChildEnvironment(o.opts.Bin, o.place),
		Slots: r.work.Slots,
		Team:  o.team, Filters: func() []worktree.Filter { return o.spec.Load().filters },
		Fresh: o.opts.Fresh, Left: o.left, MakeNone: o.only.Merge != nil,
	})
}

// leftBehind reads what must be kept of a run that is forgotten.
//
// It must be called before forget, which removes the store. It never fails: without the
// remains, the branches of the forgotten run only count as foreign.
func leftBehind(ctx context.Context, p state.Place) workcopies.Remains {
	if _, err := os.Stat(p.Store()); err != nil {
		return workcopies.Remains{}
	}
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: state.StoreBackups,
		Identity: p.Identity(), LockTimeout: readersWait})
	if err != nil {
		return workcopies.Remains{}
	}
	defer store.Close()
	return workcopies.ReadRemains(ctx, store)
}

// copyOf returns the top of a member's own copy, and whether git knows it; empty: it has none.
func (r *rooms) copyOf(member string) (top string, inGit bool) {
	tree, _ := r.work.Trees.Of(member)
	return tree.Top, tree.Branch != ""
}

// locate implements runner.Options.Locate: for a member in its own working copy, and one that
// has changed its folder, scripts that hooks name are those of the workspace, because nobody
// has trusted other files of that name.
func locate(r *rooms, o *Orchestrator) runner.Locate {
	return func(in hooks.Input, h hooks.Handler) (string, []string) {
		if s, ok := r.seats.BySession(in.SessionID); ok {
			if _, own := r.work.Trees.Of(s.Member.Name); own || in.Cwd != s.Member.Dir {
				return o.team().Located(h)
			}
		}
		return h.Command, h.Args
	}
}
