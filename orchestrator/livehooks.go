package orchestrator

import (
	"context"
	"sync/atomic"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// liveHooks are the hooks of a running team. Which ones they are may change while
// it runs: each event has those that count when it begins.
type liveHooks struct{ state atomic.Pointer[hookState] }

// hookState is one version of a team's hooks.
type hookState struct {
	runner *runner.Runner
	layers layers
}

// Run runs the hooks that count now (teammate.HookRunner).
func (l *liveHooks) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	return l.now().runner.Run(ctx, in, observe)
}

// watchNames are the files that FileChanged hooks listen to now.
func (l *liveHooks) watchNames() []string { return l.now().runner.WatchNames() }

// now is the version that counts now.
func (l *liveHooks) now() *hookState { return l.state.Load() }

// Sources are the hooks of the spec and its settings files that count now.
func (l *liveHooks) Sources() []settings.Source { return l.now().layers.sources }

// renew has other layers count from the next event on. sources are theirs, and those
// that covey has put there itself (owned.WithPolicy).
func (l *liveHooks) renew(to layers, sources []settings.Source) {
	l.state.Store(&hookState{runner: l.now().runner.Renew(sources), layers: to})
}
