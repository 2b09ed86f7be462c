package orchestrator

import (
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/agent"
)

// bill gathers what the prompts of one turn have cost, as far as the agent
// program tells. It belongs to the member's goroutine.
type bill struct {
	cost    float64 // of the turn that runs, in US dollars
	unknown bool    // some prompt of the turn told no tokens
	seen    float64 // the session's cost that was last told
	life    float64 // of all turns that the member has had, in US dollars
	keep    func()  // keeps seen and life over a restart
	book    func(add func(*account))
}

// addTotal adds a prompt whose program counts the cost of its whole session.
func (b *bill) addTotal(s acp.Spent) {
	b.unknown = b.unknown || !s.Known
	if since := b.since(s); s.CostUSD > 0 {
		b.seen = s.CostUSD
		b.add(since)
	}
	b.settle(s.Known)
}

// since is what a session has cost since it was last told. A total that is lower
// than the last one began anew with the program.
func (b *bill) since(s acp.Spent) float64 {
	if s.CostUSD < b.seen {
		return s.CostUSD
	}
	return s.CostUSD - b.seen
}

// addLive counts what the prompt that runs has used so far: a budget must not
// learn of it only when the turn is over.
func (b *bill) addLive(s acp.Spent) {
	since := 0.0
	if s.CostUSD > 0 {
		since = b.since(s)
	}
	b.book(func(a *account) {
		a.live, a.liveUSD = s.Usage, since
		a.heed(b.life + since)
	})
}

// settle ends the account of a prompt: what it used stands in the transcript, and
// what it cost in life.
func (b *bill) settle(known bool) {
	b.book(func(a *account) {
		a.live, a.liveUSD, a.told = agent.Usage{}, 0, b.life
		a.hazy = a.hazy || !known
		a.heed(b.life)
	})
}

// add adds what something has cost.
func (b *bill) add(usd float64) {
	if usd > 0 {
		b.cost, b.life = b.cost+usd, b.life+usd
		b.keep()
	}
}

// billed is a sink before next that writes on each turn's end what it has cost,
// and notes what the agent program has asked for.
func (s *seat) billed(next agent.Sink) agent.Sink {
	return func(e agent.Event) {
		if end, ok := e.Data.(agent.TurnEnded); ok {
			end.CostUSD = purse{s.crew.ledger, s.member.Name}.Price(end.Usage)
			if s.foreign != nil {
				b := &s.foreign.bill
				end.CostUSD, end.UsageUnknown = end.CostUSD+b.cost, b.unknown
				b.cost, b.unknown = 0, false
			}
			e.Data = end
		}
		s.noteAsked(e.Data)
		next(e)
		s.missTools(e.Data)
	}
}
