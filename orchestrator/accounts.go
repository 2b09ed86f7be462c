package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/transcript"
)

// openAccounts loads the stored part of the ledger: the cost that agent programs have
// reported, the use of former members, and the up time of the team.
//
// It runs once, after all members have been hired and before any begins. Former members
// have no limits, but their use counts for the team's budget: otherwise removing a member
// from the spec would refund it.
func (t *team) openAccounts(ctx context.Context) error {
	known, err := t.Store.Members().List(ctx)
	if err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	// A removed member has no seat, and therefore no transcript that is open: its use is
	// read from the file. A file that is missing is no error, because the member may never
	// have taken a turn.
	for _, m := range known {
		if _, ok := t.Seats.Of(m.Name); ok {
			continue
		}
		past, err := transcript.ReadHistory(t.o.place.Transcript(m.Name, m.Session))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("what %s has used, which is no longer a member: %w", m.Name, err)
		}
		t.Ledger.Open(m.Name, configs.Limits{}, configs.Agent{}, past)
		if err := t.Programs.RecallCost(ctx, m.Name); err != nil {
			return err
		}
	}
	return t.Ledger.Resume(ctx)
}
