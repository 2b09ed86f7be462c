package specs

import (
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
)

// TestSchedulesShown: what people see of schedules: the last and next run, the zone, and
// what they make.
func TestSchedulesShown(t *testing.T) {
	from := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	table := NewTimetable(nil, nil, members.Clock{TimeNow: func() time.Time { return from }}, nil)
	records := map[string]scheduleRecord{}
	for i, s := range []configs.Schedule{
		{Name: "ci", Cron: "0 * * * *", Task: &configs.Task{Subject: "Look at CI"}},
		{Name: "standup", Cron: "0 9 * * *", Zone: "Europe/Berlin", To: "dev"},
		{Name: "never", Cron: "0 0 31 4 *", To: "lead"},
	} {
		r := scheduleRecord{From: from, Plan: planOf(i, s)}
		if i == 0 {
			r.Last = from
		}
		records[s.Name] = r
	}
	want := []api.ScheduleStatus{
		{Name: "ci", Cron: "0 * * * *", What: "task Look at CI", Last: from, Next: from.Add(time.Hour)},
		{Name: "standup", Cron: "0 9 * * * Europe/Berlin", What: "message to dev", Next: from.Add(22 * time.Hour)},
		{Name: "never", Cron: "0 0 31 4 *", What: "message to lead"},
	}
	table.Use(ReadySchedules{records: records})
	shown := table.Status()
	if len(shown) != len(want) {
		t.Fatalf("%d schedules, want %d", len(shown), len(want))
	}
	for i, got := range shown {
		got.Next = got.Next.UTC()
		if got != want[i] {
			t.Errorf("%+v, want %+v", got, want[i])
		}
	}
	if len(NewTimetable(nil, nil, members.Clock{}, nil).Status()) != 0 {
		t.Error("a team without schedules shows some")
	}
}
