package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/tasks"
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
		if _, ok := c.seat(m.Name); !ok {
			past, err := transcript.ReadHistory(o.place.Transcript(m.Name, m.Session))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("what %s has used, who is no member any more: %w", m.Name, err)
			}
			c.ledger.Open(m.Name, configs.Limits{}, configs.Agent{}, past)
		}
		if err := c.programs.RecallCost(ctx, m.Name); err != nil {
			return err
		}
	}
	return c.ledger.Resume(ctx)
}

// weighed fills in whether a turn that has ended was empty; other events stay as they are.
//
// Words are needed where a person has written, where another member has asked and is told
// of them by a note, and where they are the lead's last: those `covey up` prints.
func (c *crew) weighed(ctx context.Context, s *seat, data agent.EventData) agent.EventData {
	end, ok := data.(agent.TurnEnded)
	if !ok {
		return data
	}
	end.Empty = !c.tally.Of(s.member.Name).Useful && !c.notes.WasAsked(s.member.Name)
	if end.Empty && s.member.Lead {
		all, err := c.store.List(ctx)
		end.Empty = err == nil && len(tasks.OpenTasks(all)) > 0
	}
	return end
}

// coordinated tells the journal what a turn of the lead's has spent on notices.
func (c *crew) coordinated(s *seat, e agent.Event) {
	if !s.member.Lead || e.Helper != "" {
		return
	}
	if spent, ok := c.notices.See(e.Data); ok {
		c.journal.Append(agent.Event{Member: e.Member, Turn: e.Turn, Data: spent})
	}
}

// coordination is what the run has spent on notices so far.
func (c *crew) coordination() budget.Coordination {
	all := c.notices.Run()
	all.Finished = c.tally.Sum().Completed
	return all
}

// billed is a sink before next that writes on each turn's end what it has cost,
// and notes what the agent program has asked for.
func (s *seat) billed(next agent.Sink) agent.Sink {
	return func(e agent.Event) {
		if end, ok := e.Data.(agent.TurnEnded); ok {
			end.CostUSD = s.crew.ledger.Purse(s.member.Name).Price(end.Usage)
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
