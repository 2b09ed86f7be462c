package orchestrator

import (
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/acp"
)

// bill gathers what the prompts of one turn have cost, as far as the agent
// program tells. It belongs to the member's goroutine.
type bill struct {
	cost    float64       // of the turn that runs, in US dollars
	unknown bool          // some prompt of the turn told no tokens
	seen    float64       // the session's cost that was last told
	keep    func(float64) // keeps that over a restart
}

// addTotal adds a prompt whose program counts the cost of its whole session. A
// total that is lower than the last one began anew with the program.
func (b *bill) addTotal(s acp.Spent) {
	b.unknown = b.unknown || !s.Known
	switch {
	case s.CostUSD <= 0 || s.CostUSD == b.seen:
		return
	case s.CostUSD > b.seen:
		b.cost += s.CostUSD - b.seen
	default:
		b.cost += s.CostUSD
	}
	b.seen = s.CostUSD
	if b.keep != nil {
		b.keep(b.seen)
	}
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
