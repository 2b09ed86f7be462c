package orchestrator

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/hookinfo"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/teammate/permission"
)

// newReloader returns what reloads changed hook files.
func newReloader(o *Orchestrator, r *rooms) *teamhooks.Reloader {
	return teamhooks.NewReloader(teamhooks.ReloaderOptions{
		Team: o.team(), Layers: o.hooks(), Managed: o.opts.ManagedFolders, Watch: r.around.files.Watch(),
		Fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
			return r.seats.Lead().Teammate().Fire(ctx, p)
		},
		Warn:    r.journal.Warn,
		Apply:   func(team *configs.Team, l hookinfo.Layers) error { return o.applyHooks(r, team, l) },
		Trusted: r.trust.Counts,
	})
}

// applyHooks puts the layers of a spec into effect for the whole team: hooks from the
// next event on, rules from the next decision on. Either all members get the new rules or
// none.
func (o *Orchestrator) applyHooks(r *rooms, team *configs.Team, l hookinfo.Layers) error {
	if err := launch.CheckDemands(team, l.Sources, launch.LookPath); err != nil {
		return err
	}
	if err := hookinfo.PreparePlugins(o.place.Home(), l.Sources); err != nil {
		return err
	}
	// All policies are made before the first is used, because a rule that cannot be read
	// must leave every member as it is.
	seats := r.seats.All()
	next := make([]permission.Policy, len(seats))
	var errs []error
	for i, s := range seats {
		var err error
		next[i], err = o.policyOf(s.Member, l.Settings, team)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.servers.Replace(l.Servers) // first, because the new hooks may call them at once
	r.hooks.live.Renew(l, withPolicies(team, l.Sources))
	for i, s := range seats {
		s.Reconfigure(next[i])
	}
	return nil
}
