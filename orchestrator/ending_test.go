package orchestrator

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
)

// TestEndingKeepsTheTime: a run whose up time cannot be stored says so, however it ends.
func TestEndingKeepsTheTime(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(""))
	closed, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	if err := errors.Join(err, closed.Close()); err != nil {
		t.Fatal(err)
	}
	r.team.Ledger = accounts.NewLedger(configs.Budget{Time: time.Hour}, nil, accounts.LedgerDeps{Store: closed})
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		rest endCause
	}{
		"finished":     {t.Context(), endCause{end: plan.Move{Kind: plan.Finish, Done: true}}},
		"told to stop": {t.Context(), endCause{err: errToldToStop}},
		"interrupted":  {interrupted, endCause{err: context.Canceled}},
		"failed":       {t.Context(), endCause{err: errors.ErrUnsupported}},
	} {
		_, err := r.team.ending(tt.ctx, tt.rest, previousRun{})
		if !errors.Is(err, tasks.ErrClosed) || tt.rest.err != nil && !errors.Is(err, tt.rest.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
