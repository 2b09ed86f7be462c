package orchestrator

import (
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/writes"
)

// newWrites returns what enforces which files members may write.
func newWrites(o *Orchestrator, r *rooms) *writes.Watch {
	return writes.New(writes.Options{
		Scratch: o.place.Scratch(), Home: filepath.Dir(o.place.Dir), Journal: r.journal, Git: r.work.Trees.Git(),
		Past: o.past, Team: o.team, Members: &r.seats, CopyOf: r.copyOf, People: r.asks.FileApprovals(),
		Asks: func(policy string) bool { return namesPolicy(r.hooks.live.Sources(), policy) },
	})
}

// namesPolicy reports whether a hook or gate of some layers uses a policy.
func namesPolicy(sources []settings.Source, name string) bool {
	for _, source := range sources {
		for _, groups := range source.Settings {
			for _, g := range groups {
				if slices.ContainsFunc(g.Hooks, func(h hooks.Handler) bool { return h.Policy == name }) {
					return true
				}
			}
		}
	}
	return false
}
