package orchestrator

import (
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/trust"
)

func mustLoad(t *testing.T, spec string) *configs.Team {
	t.Helper()
	team, err := configs.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	return team
}

func mustCheck(t *testing.T, team *configs.Team) trust.Report {
	t.Helper()
	r, err := trust.Check(t.Context(), team)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustTrust(t *testing.T, team *configs.Team) {
	t.Helper()
	if err := trust.Remember(t.Context(), team, mustCheck(t, team)); err != nil {
		t.Fatal(err)
	}
}
