package teammate

import (
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// later holds what background hooks have for the model until its next request. The
// zero value is ready to use. It is safe for concurrent use.
type later struct {
	mu     sync.Mutex
	inputs []agent.Input
}

// add appends one input.
func (l *later) add(in agent.Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = append(l.inputs, in)
}

// drain removes and returns all inputs.
func (l *later) drain() []agent.Input {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.inputs
	l.inputs = nil
	return taken
}
