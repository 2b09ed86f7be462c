package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// openAccounts completes the ledger by what is stored: what agent programs have told of
// their cost, what members have used that the spec no longer has, and how long the team
// was up.
//
// It runs once, when all members have been hired and none has begun. Former members have
// no limits, yet what they used counts for the team's budget: else a member that is taken
// out of the spec would give the team its money back.
func (o *Orchestrator) openAccounts(ctx context.Context, c *crew) error {
	known, err := c.store.Members().List(ctx)
	if err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	for _, m := range known {
		if _, ok := c.seating.of(m.Name); !ok {
			past, err := transcript.ReadHistory(o.place.Transcript(m.Name, m.Session))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("what %s has used, who is no member any more: %w", m.Name, err)
			}
			c.accounts.ledger.Open(m.Name, configs.Limits{}, configs.Agent{}, past)
		}
		if err := c.programs.RecallCost(ctx, m.Name); err != nil {
			return err
		}
	}
	return c.accounts.ledger.Resume(ctx)
}

// coordination is what the run has spent on notices so far.
func coordination(c *crew) budget.Coordination {
	all := c.accounts.notices.Run()
	all.Finished = c.accounts.tally.Sum().Completed
	return all
}

// billed is a sink before next that writes on each turn's end what it has cost,
// and notes what the agent program has asked for.
func (s *seat) billed(next agent.Sink) agent.Sink {
	return func(e agent.Event) {
		if end, ok := e.Data.(agent.TurnEnded); ok {
			end.CostUSD = s.crew.accounts.ledger.Purse(s.member.Name).Price(end.Usage)
			cost, unknown := s.crew.programs.Billed(s.member)
			end.CostUSD, end.UsageUnknown = end.CostUSD+cost, unknown
			e.Data = end
		}
		s.caller.See(e.Data)
		next(e)
		if warning := s.crew.tools.Missed(s.member.Name, e.Data); warning != "" {
			s.crew.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: agent.Warning{Text: warning}})
		}
	}
}
