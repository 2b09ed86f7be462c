package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestMayRun: without a person and without --trust nothing untrusted runs, and
// what was trusted runs until it changes.
func TestMayRun(t *testing.T) {
	teamtest.StateHome(t)
	dir := teamtest.ScriptTeam(t)
	spec := filepath.Join(dir, "team.yaml")
	team, err := configs.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	c, _, _ := printer()
	if err := c.MayRun(t.Context(), team, spec, false); cli.ExitCode(err) != cli.ExitNotTrusted {
		t.Errorf("untrusted: %v", err)
	}
	if err := c.MayRun(t.Context(), team, spec, true); err != nil {
		t.Errorf("--trust: %v", err)
	}
	if err := c.MayRun(t.Context(), team, spec, false); cli.ExitCode(err) != cli.ExitNotTrusted {
		t.Errorf("--trust was remembered: %v", err)
	}
	if got := covey(t, "trust", spec); got.code != 0 {
		t.Fatal(got.errOut)
	}
	if err := c.MayRun(t.Context(), team, spec, false); err != nil {
		t.Errorf("trusted: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lead.yaml"), []byte("steps: [{say: other}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = c.MayRun(t.Context(), team, spec, false)
	if cli.ExitCode(err) != cli.ExitNotTrusted || !strings.Contains(err.Error(), "changed  script   lead.yaml") {
		t.Errorf("changed: %v", err)
	}
	// What has changed since it was trusted does not start in the background either.
	if got := covey(t, backgroundArgs(team, upFlags{detach: true}, "")...); got.code != cli.ExitNotTrusted {
		t.Errorf("in the background: %+v", got)
	}
}
