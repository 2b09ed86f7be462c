package budget

import (
	"sync"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/teammate/agent"
)

// Tally counts what the members have done in this run. The zero value is ready to use. Its
// methods may be called from any goroutine.
type Tally struct {
	mu      sync.Mutex
	members map[string]*Done
}

// Done is what one member has done in this run.
type Done struct {
	Turns, Passes int
	Empty         int      // turns
	Useful        bool     // its current turn has done something
	Completed     []string // tasks
	Usage         agent.Usage
	UsageUnknown  bool // some turn used tokens that its program did not report
	CostUSD       float64
}

// Of returns what a member has done.
func (t *Tally) Of(member string) Done {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.members[member]; d != nil {
		return *d
	}
	return Done{}
}

// add updates what a member has done.
func (t *Tally) add(member string, do func(*Done)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.members[member]
	if d == nil {
		d = &Done{}
		note(&t.members, member, d)
	}
	do(d)
}

// See counts an event of a member.
func (t *Tally) See(e agent.Event) {
	if e.Helper != "" {
		return // a helper's turns are part of its member's turn
	}
	switch data := e.Data.(type) {
	case agent.TurnStarted:
		t.add(e.Member, func(d *Done) { d.Turns, d.Useful = d.Turns+1, data.Cause == agent.ByPerson })
	case agent.PassStarted:
		t.add(e.Member, func(d *Done) { d.Passes++ })
	case agent.ToolCalled:
		t.add(e.Member, func(d *Done) { d.Useful = true })
	case agent.TurnEnded:
		t.add(e.Member, func(d *Done) {
			d.Usage, d.CostUSD = d.Usage.Plus(data.Usage), d.CostUSD+data.CostUSD
			d.UsageUnknown = d.UsageUnknown || data.UsageUnknown
			if data.Empty {
				d.Empty++
			}
		})
	}
}

// Completed records that a member has completed a task.
func (t *Tally) Completed(member, task string) {
	t.add(member, func(d *Done) { d.Useful, d.Completed = true, append(d.Completed, task) })
}

// Spend adds usage of a member outside of its turns.
func (t *Tally) Spend(member string, u agent.Usage) {
	t.add(member, func(d *Done) { d.Usage = d.Usage.Plus(u) })
}

// Forget drops the counts of a member that has left the team.
func (t *Tally) Forget(member string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.members, member)
}

// Sum returns the counts of all members together.
func (t *Tally) Sum() journal.TurnCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	var n journal.TurnCount
	for _, d := range t.members {
		n = n.Of(d.Turns, d.Empty, len(d.Completed))
	}
	return n
}
