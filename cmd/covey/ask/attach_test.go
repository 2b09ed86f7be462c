package ask

import (
	"bytes"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestLead: what is typed for the whole team goes to the lead.
func TestLead(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	if got := lead(place); got != "" {
		t.Errorf("of an unknown team: %q", got)
	}
	teamtest.WriteRun(t, place, func(*state.RunFile) {})
	if got := lead(place); got != "lead" {
		t.Errorf("of a team: %q", got)
	}
}

// program is a program that prints to buffers.
func program() (*cli.Env, *bytes.Buffer, *bytes.Buffer) {
	var out, errOut bytes.Buffer
	return cli.New(strings.NewReader(""), &out, &errOut, "devel"), &out, &errOut
}
