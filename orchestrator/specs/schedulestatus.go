package specs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// Status lists the schedules of the running team, in file order.
func (t *Timetable) Status() []api.ScheduleStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return schedulesOf(t.now.records, t.clock.Now().Location())
}

// StoredSchedules lists the schedules of a team's last run from its store, in file order. An
// edited spec takes effect with the next `covey up`.
func StoredSchedules(ctx context.Context, s *tasks.Store) ([]api.ScheduleStatus, error) {
	known := map[string]scheduleRecord{}
	err := tasks.ReadValue(ctx, s, SchedulesKey, &known)
	return schedulesOf(known, time.Local), err
}

// schedulesOf sorts records in the order of the spec. zone applies to schedules without
// one.
func schedulesOf(records map[string]scheduleRecord, zone *time.Location) []api.ScheduleStatus {
	var out []api.ScheduleStatus
	for name, r := range records {
		p := r.Plan
		st := api.ScheduleStatus{Name: name, Cron: p.Cron, Last: r.Last, What: p.What}
		if p.Zone != "" {
			st.Cron += " " + p.Zone
		}
		st.Next, _ = yaml.NextTime(p.Cron, p.Zone, r.From.In(zone)) // checked when the spec was read
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b api.ScheduleStatus) int {
		return cmp.Compare(records[a.Name].Plan.No, records[b.Name].Plan.No)
	})
	return out
}
