package orchestrator

import (
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
)

// memberTerms are what binds each member that takes a task: how many it may have in
// progress, and what it has of what tasks want. Claims ask for them inside the
// store's transaction, so that whatever the spec says by then counts.
type memberTerms struct {
	mu     sync.RWMutex
	byName map[string]tasks.Terms
}

// set takes in what the spec says of a member.
func (m *memberTerms) set(member configs.Member) {
	has := roster.Skills(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byName == nil {
		m.byName = map[string]tasks.Terms{}
	}
	m.byName[member.Name] = tasks.Terms{Max: member.Limits.MaxInProgress, Skills: &has}
}

// of gives a member's terms; nothing binds a name that is no member's.
func (m *memberTerms) of(member string) tasks.Terms {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.byName[member]
}
