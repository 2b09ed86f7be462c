package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// newReloader makes what takes up changes of the files that a crew's hooks come from.
func newReloader(o *Orchestrator, c *crew) *hooking.Reloader {
	return hooking.NewReloader(hooking.ReloaderOptions{
		Team: o.team(), Layers: o.hooks(), Managed: o.opts.ManagedFolders, Watch: c.around.files.Watch(),
		Fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
			return c.seating.lead().mate.Fire(ctx, p)
		},
		Warn: func(format string, args ...any) {
			c.journal.Tell(agent.Warning{Text: fmt.Sprintf(format, args...)})
		},
		Apply:   func(team *configs.Team, l hooklist.Layers) error { return o.applyHooks(c, team, l) },
		Trusted: c.trust.Counts,
	})
}

// applyHooks has layers of a spec count for the whole team: hooks from the next event on,
// rules from the next decision on. Either all members have the new rules or none.
func (o *Orchestrator) applyHooks(c *crew, team *configs.Team, l hooklist.Layers) error {
	if err := launch.CheckDemands(team, l.Sources, launch.LookPath); err != nil {
		return err
	}
	if err := hooklist.PreparePlugins(o.place.Home(), l.Sources); err != nil {
		return err
	}
	seats := c.seating.all()
	next := make([]permission.Policy, len(seats))
	var errs []error
	for i, s := range seats {
		var err error
		next[i], err = permissionsOf(*s.member.Member, l.Settings)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c.hooks.servers.Replace(l.Servers) // first: the new hooks may call them at once
	c.hooks.live.Renew(l, owned.WithPolicy(team, l.Sources))
	for i, s := range seats {
		was := s.rules()
		s.mate.Rights().Reconfigure(was, next[i])
		s.setRules(next[i])
	}
	return nil
}

// rules are the member's configured rules.
func (s *seat) rules() permission.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.permissions
}

// setRules gives the member other configured rules.
func (s *seat) setRules(p permission.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permissions = p
}
