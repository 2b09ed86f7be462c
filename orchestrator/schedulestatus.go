package orchestrator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/tasks"
)

// ScheduleStatus is one schedule as `covey ps` shows it.
type ScheduleStatus struct {
	Name string    `json:"name"`
	Cron string    `json:"cron"` // with its time zone, if it has one
	What string    `json:"what"`
	Last time.Time `json:"last,omitzero"` // when it came last; zero: not yet
	// Next is when it comes again; zero: never. Of a team that does not run it may lie in
	// the past: then it was missed, and comes once with the next `covey up`.
	Next time.Time `json:"next,omitzero"`
}

// scheduleStatus lists the schedules of the running team, in file order.
func (c *crew) scheduleStatus() []ScheduleStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return statusOf(c.times.records, c.clock.Now().Location())
}

// SchedulesOf lists the schedules of a team's last run, in file order, from its store. A
// spec that was edited since has others; those count once `covey up` has taken it up.
func SchedulesOf(ctx context.Context, s *tasks.Store) ([]ScheduleStatus, error) {
	known := map[string]scheduleRecord{}
	err := tasks.ReadValue(ctx, s, keySchedules, &known)
	return statusOf(known, time.Local), err
}

// statusOf puts records into the order of the spec. Those that were stored before there
// were plans in them tell nothing. zone is that of schedules without one.
func statusOf(records map[string]scheduleRecord, zone *time.Location) []ScheduleStatus {
	var out []ScheduleStatus
	for name, r := range records {
		p := r.Plan
		if p.Cron == "" {
			continue
		}
		st := ScheduleStatus{Name: name, Cron: p.Cron, Last: r.Last, What: p.What}
		if p.Zone != "" {
			st.Cron += " " + p.Zone
		}
		st.Next, _ = configs.Schedule{Cron: p.Cron, Zone: p.Zone}.Next(r.From.In(zone)) // checked when the spec was read
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b ScheduleStatus) int {
		return cmp.Compare(records[a.Name].Plan.No, records[b.Name].Plan.No)
	})
	return out
}
