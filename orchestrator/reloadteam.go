package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/hookfiles"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// newReloader makes the reloader of a team that is about to run.
func (o *Orchestrator) newReloader(c *crew) *reloader {
	r := &reloader{
		team: o.team(), folders: o.opts.ManagedFolders, every: reloadEvery, asked: make(chan chan api.ReloadReply),
		adopts: make(chan func()),
		counts: o.hooks().Files.With(nil), seen: map[string]os.FileInfo{}, kept: map[string]keptChange{},
		warned: map[string]bool{}, ran: map[string]bool{}, watch: c.around.files.Watch(),
		fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
			return c.seats()[0].mate.Fire(ctx, p)
		},
		tell: func(format string, args ...any) {
			c.journal.Tell(agent.Warning{Text: fmt.Sprintf(format, args...)})
		},
		apply:   func(l hooklist.Layers) error { return o.takeUp(c, l) },
		trusted: c.trust.Counts,
	}
	for _, path := range hookfiles.ManagedFiles(r.folders) {
		r.counts[path] = hooklist.ReadFile(path)
	}
	for _, w := range o.hooks().Warnings {
		r.warned[w.Error()] = true
	}
	return r
}

// reloads takes up changes of the files that hooks come from until ctx ends.
func (c *crew) reloads(ctx context.Context) error {
	c.reload.run(ctx)
	return context.Cause(ctx)
}

// adopt has the hooks of another spec count, and its files be watched. It waits
// until they do; an error means that nothing has changed.
func (r *reloader) adopt(ctx context.Context, team *configs.Team, l hooklist.Layers, apply func(hooklist.Layers) error) error {
	done := make(chan error, 1)
	change := func() {
		err := apply(l)
		if err == nil {
			files := l.Files.With(nil)
			for _, path := range hookfiles.ManagedFiles(r.folders) {
				files[path] = hooklist.ReadFile(path)
			}
			r.team, r.counts, r.kept = team, files, map[string]keptChange{}
			r.rewatch()
		}
		done <- err
	}
	select {
	case r.adopts <- change:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeUp has other layers count for the whole team: hooks from the next event on,
// rules from the next decision on. Either all members have the new rules or none.
func (o *Orchestrator) takeUp(c *crew, l hooklist.Layers) error { return o.takeUpFor(c, o.team(), l) }

// takeUpFor is takeUp for a spec that is about to count.
func (o *Orchestrator) takeUpFor(c *crew, team *configs.Team, l hooklist.Layers) error {
	if err := launch.CheckDemands(team, l.Sources, launch.LookPath); err != nil {
		return err
	}
	if err := hooklist.PreparePlugins(o.place.Home(), l.Sources); err != nil {
		return err
	}
	seats := c.seats()
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
	c.servers.Replace(l.Servers) // first: the new hooks may call them at once
	c.live.Renew(l, owned.WithPolicy(team, l.Sources))
	for i, s := range seats {
		was := s.rules()
		s.mate.Rights().Reconfigure(was, next[i])
		s.setRules(next[i])
	}
	return nil
}

// rules are the member's configured rules.
func (s *seat) rules() permission.Policy {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	return s.permissions
}

// setRules gives the member other configured rules.
func (s *seat) setRules(p permission.Policy) {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	s.permissions = p
}
