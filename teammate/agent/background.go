package agent

import (
	"context"
	"sync"
	"time"
)

// BackgroundLimit is how long the end of a member waits for what runs in its background.
const BackgroundLimit = 5 * time.Second

// Background runs functions in the background of a member's turns, such as hooks whose output is
// ignored. Only the end of the member waits for them, for a short time. The zero value is ready to
// use. It is safe for concurrent use.
type Background struct {
	running sync.WaitGroup

	mu      sync.Mutex
	next    int
	cancels map[int]context.CancelFunc
}

// Start runs f in a goroutine. The end of ctx does not cancel it, because it may
// outlive its turn.
func (b *Background) Start(ctx context.Context, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.mu.Lock()
	id := b.next
	b.next++
	if b.cancels == nil {
		b.cancels = map[int]context.CancelFunc{}
	}
	b.cancels[id] = cancel
	b.mu.Unlock()
	b.running.Go(func() {
		defer func() {
			cancel()
			b.mu.Lock()
			delete(b.cancels, id)
			b.mu.Unlock()
		}()
		f(ctx)
	})
}

// End waits for all that run. It cancels them after BackgroundLimit, or as soon as
// ctx ends. Nothing may be started after it.
func (b *Background) End(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, BackgroundLimit)
	defer cancel()
	stop := context.AfterFunc(limited, b.cancelAll)
	defer stop()
	b.running.Wait()
}

// Stop cancels all that run and waits for them. Nothing may be started after it.
func (b *Background) Stop() {
	b.cancelAll()
	b.running.Wait()
}

func (b *Background) cancelAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, cancel := range b.cancels {
		cancel()
	}
}
