package orchestrator

import (
	"context"
	"sync/atomic"

	"github.com/coveyteam/covey/hooks"
)

// liveHooks are the hooks of a running team. Which ones they are may change while
// it runs: each event has those that count when it begins.
type liveHooks struct {
	state atomic.Pointer[hookState]
	// after looks at what an event's hooks came to before anybody else does; nil:
	// nobody does. Fixed before the first event.
	after func(context.Context, hooks.Input, hooks.Outcome) hooks.Outcome
}

// hookState is one version of a team's hooks.
type hookState struct {
	runner *hooks.Runner
	layers layers
}

// Run runs the hooks that count now (teammate.HookRunner).
func (l *liveHooks) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	out, err := l.state.Load().runner.Run(ctx, in, observe)
	if err == nil && l.after != nil {
		out = l.after(ctx, in, out)
	}
	return out, err
}

// watchNames are the files that FileChanged hooks listen to now.
func (l *liveHooks) watchNames() []string { return l.now().runner.WatchNames() }

// now is the version that counts now.
func (l *liveHooks) now() *hookState { return l.state.Load() }

// renew has other layers count from the next event on. sources are theirs, and those
// that covey has put there itself (withOwned).
func (l *liveHooks) renew(to layers, sources []hooks.Source) {
	l.state.Store(&hookState{runner: l.now().runner.Renew(sources), layers: to})
}
