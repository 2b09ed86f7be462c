package orchestrator

import (
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/acp"
)

// bill gathers what the prompts of one turn have cost, as far as the agent
// program tells. It belongs to the member's goroutine.
type bill struct {
	cost    float64 // of the turn that runs, in US dollars
	unknown bool    // some prompt of the turn told no tokens
	seen    float64 // the session's cost that was last told
	life    float64 // of all turns that the member has had, in US dollars
	keep    func()  // keeps seen and life over a restart
}

// addTotal adds a prompt whose program counts the cost of its whole session. A
// total that is lower than the last one began anew with the program.
func (b *bill) addTotal(s acp.Spent) {
	b.unknown = b.unknown || !s.Known
	before := b.seen
	if s.CostUSD < before {
		before = 0
	}
	if s.CostUSD > 0 {
		b.seen = s.CostUSD
		b.add(s.CostUSD - before)
	}
}

// add adds what something has cost.
func (b *bill) add(usd float64) {
	if usd > 0 {
		b.cost, b.life = b.cost+usd, b.life+usd
		b.keep()
	}
}

// cost is what the member has cost in its life, as far as its agent tells.
func (s *seat) cost() float64 {
	if s.foreign == nil {
		return 0
	}
	return s.foreign.bill.life
}

// billed is a sink before next that writes on each turn's end what it has cost,
// and notes what the agent program has asked for.
func (s *seat) billed(next teammate.Sink) teammate.Sink {
	return func(e teammate.Event) {
		if end, ok := e.Data.(teammate.TurnEnded); ok && s.foreign != nil {
			b := &s.foreign.bill
			end.CostUSD, end.UsageUnknown = b.cost, b.unknown
			b.cost, b.unknown = 0, false
			e.Data = end
		}
		s.noteAsked(e.Data)
		next(e)
	}
}
