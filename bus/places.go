package bus

import (
	"fmt"
	"sync"
)

// places counts the connections from outside. The zero value has none.
type places struct {
	mu       sync.Mutex
	all      int
	byCaller map[Identity]int // with PID 0, because a caller may use several processes
}

// reserve counts a connection, or returns why there is no place for it.
func (p *places) reserve(id Identity, o Options) error {
	id.PID = 0
	p.mu.Lock()
	defer p.mu.Unlock()
	// The operator has all places, and no limit: a person must be able to stop a team whose
	// members use up the rest.
	most := o.MaxConns
	if !o.isOperator(id) {
		if o.Operator != nil {
			most -= most / reservedShare
		}
		if o.MaxOfCaller > 0 && p.byCaller[id] >= o.MaxOfCaller {
			return fmt.Errorf("%s %s has %d connections, and may have no more at once", id.Kind, id.Name, o.MaxOfCaller)
		}
	}
	if p.all >= most {
		return fmt.Errorf("more than %d connections at once", most)
	}
	if p.byCaller == nil {
		p.byCaller = map[Identity]int{}
	}
	p.all++
	p.byCaller[id]++
	return nil
}

// reservedShare is the share of connections reserved for the operator: one in so many.
const reservedShare = 8

// release uncounts a connection that has ended.
func (p *places) release(id Identity) {
	id.PID = 0
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.byCaller[id]--; p.byCaller[id] == 0 {
		delete(p.byCaller, id)
	}
}
