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
}

// add counts the tokens of one model request.
func (m *meter) add(u agent.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed = m.owed.Plus(u)
}

// drain returns the tokens that no turn has reported yet, and resets the count.
func (m *meter) drain() agent.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	owed := m.owed
	m.owed = agent.Usage{}
	return owed
}
