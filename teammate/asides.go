package teammate

import (
	"context"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// asideLimit bounds hooks that run beside a member that has nothing more to do.
const asideLimit = 5 * time.Second

// asides are hooks that run beside a member's turns: nobody waits for them or
// reads what they say until the member ends, and then not for long.
type asides struct {
	running sync.WaitGroup

	mu      sync.Mutex
	next    int
	cancels map[int]context.CancelFunc
}

// start runs f beside its caller. The end of ctx does not reach it: an aside
// of a turn may outlive that turn.
func (a *asides) start(ctx context.Context, f func(ctx context.Context)) {
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

// end waits for all that run. After asideLimit, or as soon as ctx ends, it ends
// them. Nothing may be started after it.
func (a *asides) end(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, asideLimit)
	defer cancel()
	stop := context.AfterFunc(limited, a.cancelAll)
	defer stop()
	a.running.Wait()
}

// stop ends all that run, and waits for them. Nothing may be started after it.
func (a *asides) stop() {
	a.cancelAll()
	a.running.Wait()
}

func (a *asides) cancelAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cancel := range a.cancels {
		cancel()
	}
}

// aside fires an event whose hooks decide nothing, beside the turn.
func (at *scope) aside(ctx context.Context, in hooks.Payload) {
	at.t.root().asides.start(ctx, func(ctx context.Context) { at.try(ctx, in) })
}

// notify tells people who are attached, through the Notification hooks.
func (at *scope) notify(ctx context.Context, kind, message string) {
	at.emit(agent.Notified{Kind: kind, Message: message})
	at.aside(ctx, hooks.NotificationInput{Message: message, NotificationType: kind})
}
