package schedule

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/coveyteam/covey/configs/calendar"
	"github.com/coveyteam/covey/tasks"
)

// Status is one schedule as `covey ps` shows it.
type Status struct {
	Name string    `json:"name"`
	Cron string    `json:"cron"` // with its time zone, if it has one
	What string    `json:"what"`
	Last time.Time `json:"last,omitzero"` // when it last ran; zero: never
	// Next is its next run; zero: never. For a team that does not run it may be in the
	// past: the next `covey up` then runs it once.
	Next time.Time `json:"next,omitzero"`
}

// Status lists the schedules of the running team, in file order.
func (t *Timetable) Status() []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return statusOf(t.now.records, t.clock.Now().Location())
}

// Stored lists the schedules of a team's last run from its store, in file order. An
// edited spec takes effect with the next `covey up`.
func Stored(ctx context.Context, s *tasks.Store) ([]Status, error) {
	known := map[string]record{}
	err := tasks.ReadValue(ctx, s, Key, &known)
	return statusOf(known, time.Local), err
}

// statusOf sorts records in the order of the spec. Records without a plan, from older
// versions, are left out. zone applies to schedules without one.
func statusOf(records map[string]record, zone *time.Location) []Status {
	var out []Status
	for name, r := range records {
		p := r.Plan
		if p.Cron == "" {
			continue
		}
		st := Status{Name: name, Cron: p.Cron, Last: r.Last, What: p.What}
		if p.Zone != "" {
			st.Cron += " " + p.Zone
		}
		st.Next, _ = calendar.Next(p.Cron, p.Zone, r.From.In(zone)) // checked when the spec was read
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Compare(records[a.Name].Plan.No, records[b.Name].Plan.No)
	})
	return out
}
