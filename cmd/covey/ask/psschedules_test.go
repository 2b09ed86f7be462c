package ask

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/api"
)

// TestMissedSchedules: what was missed while a team does not run comes when it is started;
// one that runs is about to see to it.
func TestMissedSchedules(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.Local)
	list := []api.ScheduleStatus{
		{Name: "missed", Cron: "@daily", What: "task A", Next: now.Add(-time.Hour)},
		{Name: "later", Cron: "@daily", What: "task B", Next: now.Add(time.Hour)},
		{Name: "never", Cron: "0 0 31 4 *", What: "task C"},
	}
	for pid, want := range map[int]int{0: 1, 7: 0} {
		var out bytes.Buffer
		c := cli.New(strings.NewReader(""), &out, &bytes.Buffer{}, "devel")
		printSchedules(c.Out, api.Status{PID: pid, Schedules: list}, now)
		if got := strings.Count(out.String(), "with covey up"); got != want ||
			strings.Count(out.String(), "task ") != 3 {
			t.Errorf("process %d:\n%s", pid, out.String())
		}
	}
	var out bytes.Buffer
	printSchedules(cli.New(strings.NewReader(""), &out, &out, "devel").Out, api.Status{}, now)
	if out.Len() > 0 {
		t.Errorf("without schedules: %q", out.String())
	}
}
