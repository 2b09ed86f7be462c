package teammate

import (
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// meter counts tokens that were used for a member outside its own messages: by
// its helpers, also those that work beside it, and by its hooks.
type meter struct {
	mu   sync.Mutex
	owed agent.Usage // what no turn has told yet
}

// add counts the tokens of one model request.
func (m *meter) add(u agent.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed = m.owed.Plus(u)
}

// settle gives the tokens that no turn has told yet, and counts them as told.
func (m *meter) settle() agent.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	owed := m.owed
	m.owed = agent.Usage{}
	return owed
}
