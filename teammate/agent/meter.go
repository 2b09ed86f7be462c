package agent

import "sync"

// Meter counts tokens used for a member outside its own messages: by its helpers and its hooks.
// The zero value is ready to use. It is safe for concurrent use.
type Meter struct {
	mu   sync.Mutex
	owed Usage   // not yet reported by a turn
	usd  float64 // what that cost, where a price was known
}

// Add counts the tokens of one model request, and their cost.
func (m *Meter) Add(u Usage, usd float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed, m.usd = m.owed.Plus(u), m.usd+usd
}

// Drain returns the tokens that no turn has reported yet, and their cost, and resets both.
func (m *Meter) Drain() (Usage, float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owed, usd := m.owed, m.usd
	m.owed, m.usd = Usage{}, 0
	return owed, usd
}
