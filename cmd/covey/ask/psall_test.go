//go:build unix

package ask

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestPsAll lists running teams first; --team narrows the list.
func TestPsAll(t *testing.T) {
	teamtest.StateHome(t)
	teamtest.WriteRun(t, teamtest.Place(t, "aaa"), func(r *state.RunFile) {
		r.Result = &state.RunResult{Reason: "told to stop" + strings.Repeat(" by a person", 20),
			ExitCode: 1, Ended: time.Now()}
	})
	teamtest.WriteRun(t, teamtest.Place(t, "zzz"), func(*state.RunFile) {})
	c, out, _ := program()
	if err := psAll(c, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[1], "zzz   running") || !strings.Contains(lines[2], "by a person (code 1)") {
		t.Errorf("got\n%s", out)
	}
	narrow := onTerminal(t, 80, func(c *cli.Env) { _ = psAll(c, false) })
	for line := range strings.Lines(narrow) {
		if line = ansi.Strip(strings.TrimRight(line, "\r\n")); ansi.StringWidth(line) > 80 {
			t.Errorf("%d columns on a terminal of 80: %s", ansi.StringWidth(line), line)
		}
	}
	c, out, _ = program()
	c.Team = "aaa"
	if err := psAll(c, true); err != nil {
		t.Fatal(err)
	}
	var infos []cli.TeamInfo
	if err := json.Unmarshal(out.Bytes(), &infos); err != nil || len(infos) != 1 || infos[0].Team != "aaa" {
		t.Errorf("%v, %s", err, out)
	}
}

// TestPsAllOfNobody: no teams are an empty array, not null.
func TestPsAllOfNobody(t *testing.T) {
	teamtest.StateHome(t)
	c, out, _ := program()
	if err := psAll(c, true); err != nil || strings.TrimSpace(out.String()) != "[]" {
		t.Errorf("%v, %q", err, out)
	}
}
