package runner

import (
	"sync"

	"github.com/coveyteam/covey/hooks/settings"
)

// Renew makes the Runner for another state of the sources, such as after a
// settings file has changed. Both may run events at once, for good: what must
// hold over both of them they share, which is the slots for processes, what runs in
// the background, the memory of `once`, and what their Options hold. An event that has begun ends with the
// hooks that it began with.
func (r *Runner) Renew(sources []settings.Source) *Runner {
	next := newRunner(r.opts)
	next.slots, next.ran, next.errands = r.slots, r.ran, r.errands
	next.take(sources)
	return next
}

// onceBook remembers which hooks of `once` have run.
type onceBook struct {
	mu  sync.Mutex
	ran map[string]bool // session and handler
}

// first reports whether key is new, and notes it.
func (b *onceBook) first(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.ran[key]
	b.ran[key] = true
	return !was
}
