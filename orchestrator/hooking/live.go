// Package hooking runs the hooks of one running team: which ones count now and what is
// taken up when their files change, what they ask of models and MCP servers, the policies
// that ship with covey, which settings of tools its gates go by, and those hooks that go on
// in the background. It says what of an event the members of a team can fire, and fires
// events and gates by hand where no team runs.
//
// It is covey's own and makes no promise to other programs.
package hooking

import (
	"context"
	"sync/atomic"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/hooklist"
)

// Live are the hooks of a running team. They may change while it runs: each event
// has those that count when it begins. The zero Live has no hooks.
type Live struct {
	Tallies Tallies // what came of them in this run
	current atomic.Pointer[version]
}

// version is one version of a team's hooks.
type version struct {
	runner *runner.Runner
	layers hooklist.Layers
}

// Begin makes r run the hooks of these layers.
func (l *Live) Begin(r *runner.Runner, layers hooklist.Layers) {
	l.current.Store(&version{runner: r, layers: layers})
}

// Renew makes other layers count from the next event on. sources are theirs, and those
// that covey itself has added.
func (l *Live) Renew(layers hooklist.Layers, sources []settings.Source) {
	l.current.Store(&version{runner: l.current.Load().runner.Renew(sources), layers: layers})
}

// Layers are the layers that count now.
func (l *Live) Layers() hooklist.Layers {
	if now := l.current.Load(); now != nil {
		return now.layers
	}
	return hooklist.Layers{}
}

// Sources are the hooks of the spec and its settings files that count now.
func (l *Live) Sources() []settings.Source { return l.Layers().Sources }

// Run implements teammate.HookRunner.
func (l *Live) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	return l.current.Load().runner.Run(ctx, in, observe)
}

// WatchNames are the files that FileChanged hooks listen to now.
func (l *Live) WatchNames() []string { return l.current.Load().runner.WatchNames() }

// Settle waits for the hooks of a session in the background, and ends them when
// ctx ends. Hooks that have been replaced meanwhile are among them.
func (l *Live) Settle(ctx context.Context, session string) {
	if now := l.current.Load(); now != nil {
		now.runner.Settle(ctx, session)
	}
}

// EndAll ends all hooks in the background. Members have given their own hooks their
// time by then, but others may have fired hooks for a member that had gone.
func (l *Live) EndAll(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	l.Settle(ctx, "")
}
