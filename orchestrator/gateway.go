package orchestrator

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/gateway"
	"github.com/coveyteam/covey/teammate/agent"
)

// newGateway makes the gateway of a team's agent programs.
func newGateway(d crew.Deps, ledger *accounts.Ledger) *gateway.Gateway {
	return gateway.New(gateway.Deps{
		Log: d.Log, Processes: d.Processes, Clock: d.Clock, Turn: d.Seats.Turn,
		Left: func(member, model string) error { return ledger.Purse(member).Used(model) },
		Price: func(member string, u agent.Usage, model string) float64 {
			return ledger.Purse(member).Price(u, model)
		},
		Count: func(member string, used events.TokensUsed) {
			if s, ok := d.Seats.Of(member); ok {
				s.Teammate().Count(used)
			}
		},
	})
}
