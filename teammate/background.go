package teammate

import (
	"context"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// backgroundLimit is how long the end of a member waits for its background hooks.
const backgroundLimit = 5 * time.Second

// backgroundRuns are hooks that run in the background of a member's turns. Their output is
// ignored, and only the end of the member waits for them, for a short time.
type backgroundRuns struct {
	running sync.WaitGroup

	mu      sync.Mutex
	next    int
	cancels map[int]context.CancelFunc
}

// start runs f in a goroutine. The end of ctx does not cancel it, because it may
// outlive its turn.
func (a *backgroundRuns) start(ctx context.Context, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.mu.Lock()
	id := a.next
	a.next++
	if a.cancels == nil {
		a.cancels = map[int]context.CancelFunc{}
	}
	a.cancels[id] = cancel
	a.mu.Unlock()
	a.running.Go(func() {
		defer func() {
			cancel()
			a.mu.Lock()
			delete(a.cancels, id)
			a.mu.Unlock()
		}()
		f(ctx)
	})
}

// end waits for all running hooks. It cancels them after backgroundLimit, or as soon as
// ctx ends. Nothing may be started after it.
func (a *backgroundRuns) end(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, backgroundLimit)
	defer cancel()
	stop := context.AfterFunc(limited, a.cancelAll)
	defer stop()
	a.running.Wait()
}

// stop cancels all that run and waits for them. Nothing may be started after it.
func (a *backgroundRuns) stop() {
	a.cancelAll()
	a.running.Wait()
}

func (a *backgroundRuns) cancelAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cancel := range a.cancels {
		cancel()
	}
}

// fireInBackground runs the hooks of an event in the background. Their decisions are ignored.
func (at *scope) fireInBackground(ctx context.Context, in hooks.Payload) {
	at.t.root().hookRuns.start(ctx, func(ctx context.Context) { at.try(ctx, in) })
}

// notify sends a notification to attached people and to the Notification hooks.
func (at *scope) notify(ctx context.Context, kind, message string) {
	at.emit(agent.Notified{Kind: kind, Message: message})
	at.fireInBackground(ctx, hooks.NotificationInput{Message: message, NotificationType: kind})
}
