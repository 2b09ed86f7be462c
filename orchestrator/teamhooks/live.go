// Package teamhooks lists and runs the hooks of a team: which ones its spec, settings files and plugins
// have, which count now and what is taken up when their files change, what they ask of models and MCP
// servers, the policies that ship with covey, which settings of tools its gates go by, and those hooks
// that go on in the background. It says what of an event the members of a team can fire, and fires events
// and gates by hand where no team runs.
//
// It is covey's own and makes no promise to other programs.
package teamhooks

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate"
)

// Live is the hooks of a running team. They may change while it runs; an event uses the hooks
// at its beginning. The zero Live has no hooks.
type Live struct {
	Functions *hooks.Registry // Go hooks: the program's, and those that agents register
	current   atomic.Pointer[version]
}

// version is one version of a team's hooks.
type version struct {
	runner *runner.Runner
	layers Layers
}

// Use sets the first layers, whose hooks r runs.
func (l *Live) Use(r *runner.Runner, layers Layers) {
	l.current.Store(&version{runner: r, layers: layers})
}

// Renew replaces the layers from the next event on. sources are the sources of the layers and
// covey's own.
//
// Use must have been called. Callers serialize their calls, since the new runner is made
// from the current one.
func (l *Live) Renew(layers Layers, sources []settings.Source) {
	l.current.Store(&version{runner: l.current.Load().runner.Renew(sources), layers: layers})
}

// Layers returns the current layers.
func (l *Live) Layers() Layers {
	if now := l.current.Load(); now != nil {
		return now.layers
	}
	return Layers{}
}

// Sources returns the current hooks of the spec and its settings files.
func (l *Live) Sources() []settings.Source { return l.Layers().Sources }

// NamesPolicy reports whether a hook or gate uses a policy.
func (l *Live) NamesPolicy(name string) bool {
	for _, source := range l.Sources() {
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

// Run implements teammate.HookRunner.
func (l *Live) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	return l.current.Load().runner.Run(ctx, in, observe)
}

// Gated is Live for one member: it reports each gate before the gate's hooks.
type Gated struct {
	*Live
	Tell func(events.GateAsked)
}

// Run implements teammate.HookRunner.
func (g Gated) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	return g.Live.Run(ctx, in, teammate.Announced(in.Payload, "", g.Tell, observe))
}

// WatchNames returns the files that the current FileChanged hooks watch.
func (l *Live) WatchNames() []string { return l.current.Load().runner.WatchNames() }

// Drain waits for the background hooks of a session, including replaced ones, and ends them
// when ctx ends.
func (l *Live) Drain(ctx context.Context, session string) {
	if now := l.current.Load(); now != nil {
		now.runner.Drain(ctx, session)
	}
}

// Stopped removes the hooks that the member's agent has registered. It implements crew.Stopper.
func (l *Live) Stopped(m *members.Member) error {
	l.Functions.Session(m.Session.Session).Release()
	return nil
}

// Ended ends all background hooks. Members have waited for their own hooks by then, but hooks
// may also have been fired for a member that had left. It implements crew.Ender.
func (l *Live) Ended(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	l.Drain(ctx, "")
	return nil
}
