package cli

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestInfoOf tells the states of a team apart by its run.json.
func TestInfoOf(t *testing.T) {
	teamtest.StateHome(t)
	result := &state.RunResult{Reason: "all work is done", Ended: time.Now()}
	for _, tc := range []struct {
		name   string
		change func(*state.RunFile) // nil: there is no run.json
		want   string
	}{
		{"never ran", nil, TeamNeverRan},
		{"running", func(*state.RunFile) {}, TeamRunning},
		{"ended", func(r *state.RunFile) { r.Result = result }, TeamEnded},
		{"killed", func(r *state.RunFile) { r.PID = teamtest.DeadProcess(t) }, TeamCutOff},
		{"killed, and another got its pid", func(r *state.RunFile) { r.Birth = "long ago" }, TeamCutOff},
	} {
		t.Run(tc.name, func(t *testing.T) {
			place := teamtest.Place(t, "crew")
			if tc.change != nil {
				teamtest.WriteRun(t, place, tc.change)
			}
			info := InfoOf(place)
			if info.State != tc.want || info.Team != "crew" || info.Dir != place.Dir {
				t.Errorf("%+v, want state %q", info, tc.want)
			}
			if (info.PID != 0) != (tc.want == TeamRunning) || (info.Result != nil) != (tc.want == TeamEnded) {
				t.Errorf("%+v: pid or result do not fit the state", info)
			}
		})
	}
}
