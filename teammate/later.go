package teammate

import (
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// later holds what hooks that run beside the turns have for the model, until
// its next request. The zero value is ready, and safe for concurrent use.
type later struct {
	mu     sync.Mutex
	inputs []agent.Input
}

// add keeps one more.
func (l *later) add(in agent.Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = append(l.inputs, in)
}

// take gives what is kept, once.
func (l *later) take() []agent.Input {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.inputs
	l.inputs = nil
	return taken
}
