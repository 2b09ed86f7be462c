package orchestrator

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
)

const scheduled = pairSpec + `
schedules:
  - {name: nightly, cron: "@every 60m", task: {subject: Look at CI, owner: dev}}
  - {name: standup, cron: "@every 60m", to: dev, text: What is open?}
`

// schedulesTold are the journal's lines of schedules.
func (u *underway) schedulesTold() []events.ScheduleRan {
	u.t.Helper()
	var all []events.ScheduleRan
	for _, l := range u.lines.all() {
		var ran events.ScheduleRan
		if l.Type != "schedule" {
			continue
		}
		if err := json.Unmarshal(l.Data, &ran); err != nil {
			u.t.Fatal(err)
		}
		all = append(all, ran)
	}
	return all
}

// TestSchedulesInATeam: a team with schedules stays up; what is due comes, once for
// all that was missed while nobody was up; a task comes not again while it is open.
func TestSchedulesInATeam(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"team.yaml": scheduled,
		"lead.yaml": "steps: [{say: Fine., times: -1}]",
		"dev.yaml": `steps:
  - {when: Look at CI, call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: Fine., times: -1}
`,
	})
	clock := &handClock{}
	u := start(r, clock)
	u.until("turn_ended", 1)
	clock.forward(61 * time.Minute)
	u.until("schedule", 2)
	u.lines.wait(t, "the task's end", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if told := u.schedulesTold(); told[0].Task != "1" || told[1].To != "dev" || told[1].Skipped != "" {
		t.Errorf("told %+v", told)
	}
	u.stop(errors.New("enough"))
	r.want(u.end(), CodeInterrupted, "interrupted")

	// Hours later it comes once, and then the task is still open: dev has no more steps for it.
	clock.forward(5 * time.Hour)
	u = start(r, clock)
	u.until("schedule", 2)
	clock.forward(61 * time.Minute)
	u.until("schedule", 4)
	told := u.schedulesTold()
	if told[0].Task != "2" || told[2].Skipped != "task 2 of the time before is still open" || told[3].Skipped != "" {
		t.Errorf("told %+v", told)
	}
	client, err := api.Dial(t.Context(), u.o.Place())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	st, err := client.Status(t.Context())
	if err != nil || len(st.Schedules) != 2 || st.Schedules[0].What != "task Look at CI" || !st.Schedules[1].Next.After(st.Schedules[1].Last) {
		t.Errorf("status %+v, %v", st.Schedules, err)
	}
	u.stop(errors.New("enough"))
	r.want(u.end(), CodeInterrupted, "interrupted")
}
