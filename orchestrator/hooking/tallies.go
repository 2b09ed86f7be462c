package hooking

import (
	"context"
	"sync"

	"github.com/coveyteam/covey/orchestrator/hooklist"
)

// Tallies counts the runs of a team's hooks by member. The zero value is ready to use. Its
// methods may be called from any goroutine.
type Tallies struct {
	mu       sync.Mutex
	byMember map[string]*hooklist.Tally
}

// Add counts one run for a member.
func (t *Tallies) Add(member string, end hooklist.End) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byMember == nil {
		t.byMember = map[string]*hooklist.Tally{}
	}
	if t.byMember[member] == nil {
		t.byMember[member] = &hooklist.Tally{}
	}
	t.byMember[member].Add(end)
}

// Left drops the counts of a member that has left the team. It implements crew.Leaver.
func (t *Tallies) Left(_ context.Context, member string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byMember, member)
	return nil
}

// Of returns the sum of the counts of these members' hooks.
func (t *Tallies) Of(members ...string) *hooklist.Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := &hooklist.Tally{}
	for _, member := range members {
		if own := t.byMember[member]; own != nil {
			all.Join(own)
		}
	}
	return all
}
