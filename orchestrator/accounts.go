package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/teammate/transcript"
)

// openAccounts completes the ledger by what is stored: what agent programs have told of
// their cost, what members have used that the spec no longer has, and how long the team
// was up.
//
// It runs once, when all members have been hired and none has begun. Former members have
// no limits, yet what they used counts for the team's budget: else a member that is taken
// out of the spec would give the team its money back.
func (o *Orchestrator) openAccounts(ctx context.Context, r *rooms) error {
	known, err := r.store.Members().List(ctx)
	if err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	for _, m := range known {
		if _, ok := r.seats.Of(m.Name); !ok {
			past, err := transcript.ReadHistory(o.place.Transcript(m.Name, m.Session))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("what %s has used, who is no member any more: %w", m.Name, err)
			}
			r.accounts.ledger.Open(m.Name, configs.Limits{}, configs.Agent{}, past)
		}
		if err := r.programs.RecallCost(ctx, m.Name); err != nil {
			return err
		}
	}
	return r.accounts.ledger.Resume(ctx)
}

// coordination is what the run has spent on notices so far.
func coordination(r *rooms) budget.Coordination {
	all := r.accounts.notices.Run()
	all.Finished = r.accounts.tally.Sum().Completed
	return all
}
