package orchestrator

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/roster"
)

// newWrites makes what holds a crew's members to what they may write.
func newWrites(o *Orchestrator, c *crew) *owned.Writes {
	return owned.New(owned.Options{
		Scratch: o.place.Scratch(), Home: filepath.Dir(o.place.Dir), Journal: c.journal, Git: c.work.trees.Git(),
		Past: o.past, Team: o.team, Members: c.seating.members, CopyOf: c.copyOf, People: c.asks.Keepers(),
		MemberOf: func(in hooks.Input) (*roster.Member, bool) {
			return c.seating.member(c.hooks.policies.MemberOf(in))
		},
		Turn: func(member string) int {
			s, ok := c.seating.of(member)
			if !ok {
				return 0
			}
			return s.turn()
		},
		Lingers: func(member string) bool {
			s, ok := c.seating.of(member)
			return ok && s.workspace != nil && s.workspace.Lingers()
		},
		OnBranch: func(ctx context.Context, m *roster.Member) ([]string, string, error) {
			return c.work.merges.OutsideOf(ctx, m)
		},
		Asks: func(policy string) bool { return namesPolicy(c.hooks.live.Sources(), policy) },
	})
}

// namesPolicy reports whether a hook or gate of some layers asks a policy.
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
