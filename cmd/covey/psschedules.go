package main

import (
	"fmt"
	"time"

	"github.com/coveyteam/covey/orchestrator"
)

// printSchedules lists what comes again by itself, and when. Nothing comes while the team
// does not run; what was missed then comes when it is started.
func (c *cli) printSchedules(of orchestrator.Status, now time.Time) {
	if len(of.Schedules) == 0 {
		return
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return orchestrator.ShortTime(t.Local(), now)
	}
	t := &table{head: []string{"SCHEDULE", "CRON", "NEXT", "LAST", "WHAT"}}
	for _, s := range of.Schedules {
		next := when(s.Next)
		if missed := !s.Next.IsZero() && s.Next.Before(now); missed && of.PID == 0 {
			next = "with covey up"
		}
		t.add(cell{text: s.Name}, cell{text: s.Cron}, cell{text: next}, cell{text: when(s.Last)}, cell{text: s.What})
	}
	c.out.printf("\n")
	t.print(c.out)
}

// scheduleText tells of a schedule that came.
func scheduleText(p payload) string {
	switch {
	case p.Skipped != "":
		return fmt.Sprintf("schedule %s: nothing comes of it, %s", p.Name, p.Skipped)
	case p.TaskID != "":
		return fmt.Sprintf("schedule %s: task %s", p.Name, p.TaskID)
	}
	return fmt.Sprintf("schedule %s: a message to %s", p.Name, p.To)
}
