package orchestrator

import (
	"context"
	"errors"
	"os"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// newTrees makes the working copies of a crew's members; nobody has one yet.
func newTrees(o *Orchestrator, c *crew) *trees.Trees {
	return trees.New(trees.Options{
		Place: o.place, Store: c.store, Journal: c.journal, Processes: c.processes, Clock: c.clock,
		Functions: c.hooks.functions, Hooks: &c.hooks.live, Environ: launch.ChildEnvironment(o.opts.Bin, o.place),
		Team: o.team, Filters: func() []worktree.Filter { return o.design.Load().filters },
		Attention: func(ctx context.Context, member, why string) {
			if s, ok := c.seating.of(member); ok {
				c.act(ctx, s, (alarms{c}).giveUpOn(ctx, s, why))
			}
		},
		Fresh: o.opts.Fresh, Left: o.left, MakeNone: o.only.merge != nil,
	})
}

// ofSpec gives an error of working copies the kind configs.ErrSpec if it is the spec's fault.
func ofSpec(err error) error {
	if errors.Is(err, trees.ErrSpec) {
		return notation.Errorf(configs.ErrSpec, "%v", err)
	}
	return err
}

// leftBehind reads what is to be known of a run that is forgotten.
func leftBehind(ctx context.Context, p state.Place) trees.Remains {
	if _, err := os.Stat(p.Store()); err != nil {
		return trees.Remains{}
	}
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: storeBackups,
		Identity: p.Identity(), LockTimeout: readersWait})
	if err != nil {
		return trees.Remains{}
	}
	defer store.Close()
	return trees.ReadRemains(ctx, store)
}

// setUpTree sets up a member's working copy, in its goroutine. It reports whether the
// member can begin; if not, people are told, and the lead is. Its tasks stay its own, for
// the next run starts it again.
func (c *crew) setUpTree(ctx context.Context, s *seat) bool {
	doing := func(what string) { c.watch.SetDoing(s.member.Name, what) }
	err := c.work.trees.Ready(ctx, s.member, doing)
	doing("")
	if err == nil {
		return true
	}
	c.keepAway(ctx, s, "its working copy could not be set up, which the next `covey up` tries again: "+err.Error())
	return false
}

// copyOf reports whether a member works in a copy of its own, and whether git knows it.
func (c *crew) copyOf(member string) (own, inGit bool) {
	tree, own := c.work.trees.Of(member)
	return own, tree.Branch != ""
}

// locate is runner.Options.Locate: for a member in a working copy of its own, the
// scripts that hooks name are those of the workspace.
func locate(c *crew, o *Orchestrator) runner.Locate {
	return func(in hooks.Input, h hooks.Handler) (string, []string) {
		if s, ok := c.seating.bySession(in.SessionID); ok {
			if _, own := c.work.trees.Of(s.member.Name); own {
				return o.team().Place().Located(h)
			}
		}
		return h.Command, h.Args
	}
}

// rootOf is runner.Options.Root.
func (c *crew) rootOf(in hooks.Input) string {
	if s, ok := c.seating.bySession(in.SessionID); ok {
		return s.member.Dir
	}
	return ""
}
