package teammate

import "sync"

// meter counts the tokens of a member's life. Its helpers count on the same
// one, also those that work beside it.
type meter struct {
	mu   sync.Mutex
	used Usage
	// owed are tokens of helpers that no turn has told yet.
	owed Usage
}

// add counts the tokens of one model request; of a helper's, some turn has
// still to tell.
func (m *meter) add(u Usage, helper bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = m.used.plus(u)
	if helper {
		m.owed = m.owed.plus(u)
	}
}

// total is all tokens so far.
func (m *meter) total() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used.total()
}

// settle gives the tokens that no turn has told yet, and counts them as told.
func (m *meter) settle() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	owed := m.owed
	m.owed = Usage{}
	return owed
}
