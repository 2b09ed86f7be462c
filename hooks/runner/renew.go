package runner

import (
	"sync"

	"github.com/coveyteam/covey/hooks/settings"
)

// Renew returns a Runner for another state of the sources, such as after a settings file
// has changed. Both Runners stay usable at once. They share what must hold over both: the
// slots for processes, the hooks in the background, the memory of `once`, and what their
// Options hold. An event that has begun ends with the hooks it began with.
func (r *Runner) Renew(sources []settings.Source) *Runner {
	next := newRunner(r.opts)
	next.slots, next.once, next.background = r.slots, r.once, r.background
	next.load(sources)
	return next
}

// onceSet remembers which hooks with `once` have run or are about to.
type onceSet struct {
	mu  sync.Mutex
	ran map[string]bool // by session and handler
}

// first reports whether key is new, and adds it.
func (b *onceSet) first(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.ran[key]
	b.ran[key] = true
	return !was
}

// forget removes a key, whose hook could not start.
func (b *onceSet) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ran, key)
}
