package teammate

import (
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// meter counts tokens used for a member outside its own messages: by its helpers and
// its hooks.
type meter struct {
	mu   sync.Mutex
	owed agent.Usage // not yet reported by a turn
	usd  float64     // what that cost, where a price was known
}

// add counts the tokens of one model request, and their cost.
func (m *meter) add(u agent.Usage, usd float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed, m.usd = m.owed.Plus(u), m.usd+usd
}

// drain returns the tokens that no turn has reported yet, and their cost, and resets both.
func (m *meter) drain() (agent.Usage, float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owed, usd := m.owed, m.usd
	m.owed, m.usd = agent.Usage{}, 0
	return owed, usd
}
