package orchestrator

import (
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/trust"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	mustMkdir(t, filepath.Dir(path))
	if err := testkit.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

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
