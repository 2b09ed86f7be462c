package agent

import "sync"

// Later holds what background hooks have for the model until its next request. The zero value
// is ready to use. It is safe for concurrent use.
type Later struct {
	mu     sync.Mutex
	inputs []Input
}

// Add appends one input.
func (l *Later) Add(in Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = append(l.inputs, in)
}

// Drain removes and returns all inputs.
func (l *Later) Drain() []Input {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.inputs
	l.inputs = nil
	return taken
}
