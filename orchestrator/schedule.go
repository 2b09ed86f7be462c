package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/mailtext"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// keySchedules is the key of the store under which the crew remembers when each
// schedule came last.
const keySchedules = "schedules"

// ScheduleRan is told each time that a schedule comes.
type ScheduleRan struct {
	Name string    `json:"name"`
	Due  time.Time `json:"due"` // when it was due; earlier than its line if nobody was up then
	Task string    `json:"task_id,omitempty"`
	To   string    `json:"to,omitempty"`
	// Skipped is why nothing came of it; empty: it did.
	Skipped string `json:"skipped,omitempty"`
}

// EventType is the journal's name for it.
func (ScheduleRan) EventType() string { return "schedule" }

// scheduleRecord is what the store knows of a schedule.
type scheduleRecord struct {
	From time.Time `json:"from"`           // it is due at the first time after this
	Last time.Time `json:"last,omitzero"`  // when it came last
	Task string    `json:"task,omitempty"` // that it made last
	// Plan is the schedule itself as the last run had it, for who looks when none runs.
	Plan schedulePlan `json:"plan,omitzero"`
}

// schedulePlan is what people see of a schedule.
type schedulePlan struct {
	No         int // its place in the spec, from 0
	Cron, Zone string
	What       string // that comes: "task Look at CI"
}

// planOf is the plan of the schedule at a place in the spec.
func planOf(no int, s configs.Schedule) schedulePlan {
	p := schedulePlan{No: no, Cron: s.Cron, Zone: s.Zone, What: "message to " + s.To}
	if s.Task != nil {
		p.What = "task " + s.Task.Subject
	}
	return p
}

// wrongClock is how far ahead a record may lie: one that lies further was written
// while the clock was wrong, and would keep its schedule silent until then.
const wrongClock = 25 * time.Hour

// dueBy finds out whether a schedule is due now, and from when on it is looked for
// next. What was missed comes once, however often it was missed.
//
// due is zero if it is not due. With one missed time rest is that time, so that the next
// one is counted from there; with several it is now, by which all others are dropped. A
// team that was down over a weekend is not to begin Monday with sixty copies of a task.
// from is read in the zone of now, and a schedule with a zone of its own goes by that.
func dueBy(s configs.Schedule, from, now time.Time) (due, rest time.Time, err error) {
	from = from.In(now.Location())
	if from.After(now.Add(wrongClock)) {
		from = now
	}
	due, err = s.Next(from)
	if err != nil || due.IsZero() || due.After(now) {
		return time.Time{}, from, err
	}
	after, err := s.Next(due)
	if err != nil || after.IsZero() || after.After(now) {
		return due, due, err
	}
	return due, now, nil
}

// timetable is what the crew knows of its schedules. It belongs to the crew's loop;
// what others may see of it is guarded by crew.mu.
type timetable struct {
	plans   []configs.Schedule
	records map[string]scheduleRecord
	next    time.Time // when the first of them is due; zero: none is
	looked  time.Time // when somebody looked last
	forgets bool      // the store had some that may be gone
}

// timetabled takes schedules over: what is known of those that were there before
// stays, and new ones count from now.
//
// A schedule is known by its name: one with another cron line under the same name keeps
// its past, and one that was renamed is new. Names that are gone are dropped from the
// store. It is called before the loop begins, and in it when a spec is taken up anew.
func (c *crew) timetabled(ctx context.Context, plans []configs.Schedule) error {
	times, err := c.timetableOf(ctx, plans)
	if err != nil {
		return err
	}
	if len(plans) > 0 || times.forgets {
		if err := c.store.Put(ctx, keySchedules, rawjson.Encode(times.records)); err != nil {
			return fmt.Errorf("store the schedules: %w", err)
		}
	}
	c.useTimes(times)
	return nil
}

// useTimes has a timetable count whose records are stored.
func (c *crew) useTimes(t timetable) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = t
}

// timetableOf is the timetable of schedules, with what the store knows of them.
func (c *crew) timetableOf(ctx context.Context, plans []configs.Schedule) (timetable, error) {
	known := map[string]scheduleRecord{}
	if err := tasks.ReadValue(ctx, c.store, keySchedules, &known); err != nil {
		return timetable{}, err
	}
	now := c.clock.Now()
	records := map[string]scheduleRecord{}
	for i, s := range plans {
		r, ok := known[s.Name]
		if !ok {
			r = scheduleRecord{From: now}
		}
		r.Plan = planOf(i, s)
		records[s.Name] = r
	}
	return timetable{plans: plans, records: records, next: now, forgets: len(known) > 0}, nil
}

// keepSchedules lets come what is due.
//
// The loop calls it with each round, so most calls must cost nothing: next is the first
// time at which anything can be due. It was found by a clock that may have been wrong: when
// that is set back, it is found anew. An error ends the team, and comes only from the
// store or from a cron line that was checked before.
func (c *crew) keepSchedules(ctx context.Context) error {
	now := c.clock.Now().Round(0) // by the wall clock alone: machines sleep
	setBack := now.Before(c.times.looked)
	c.times.looked = now
	if len(c.times.plans) == 0 || c.times.next.IsZero() || c.times.next.After(now) && !setBack {
		return nil
	}
	var first time.Time
	for _, s := range c.times.plans {
		r := c.times.records[s.Name]
		due, rest, err := dueBy(s, r.From, now)
		if err != nil {
			return fmt.Errorf("schedule %s: %w", s.Name, err) // it was checked when the spec was read
		}
		if r.From = rest; !due.IsZero() {
			if err := c.come(ctx, s, &r, due); err != nil {
				return fmt.Errorf("schedule %s: %w", s.Name, err)
			}
		}
		c.noteSchedule(s.Name, r)
		if next, err := s.Next(rest); err == nil && !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	c.mu.Lock()
	c.times.next = first
	c.mu.Unlock()
	return nil
}

// noteSchedule keeps what is known of a schedule for those who look.
func (c *crew) noteSchedule(name string, r scheduleRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times.records[name] = r
}

// come lets a schedule come: it makes its task or sends its message, and notes that
// it did. A crash in between does it again under the same call id, which adds
// nothing.
//
// The call id is made of the schedule's name and the time at which it was due, so that
// both the task and the message are made once per such time, over crashes too. What a
// store that is whole refuses is told as skipped, as one bad schedule must not end a
// team; a disk that fails and an end of the team are passed on.
func (c *crew) come(ctx context.Context, s configs.Schedule, r *scheduleRecord, due time.Time) error {
	told := ScheduleRan{Name: s.Name, Due: due.UTC(), To: s.To}
	call := actors.CallID("schedule", s.Name+" "+due.UTC().Format(time.RFC3339))
	var err error
	if s.Task != nil {
		told.Task, told.Skipped, err = c.makeScheduled(ctx, s, r.Task, call)
	} else {
		text := fmt.Sprintf("Schedule %s (%s): %s", s.Name, s.Cron, s.Text)
		_, err = c.store.Mail().Send(ctx, actors.Actor{CallID: call}, mail.Outgoing{
			To: []string{s.To}, Kind: mail.Notice, Text: text, Summary: mailtext.Summary(text),
		})
	}
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, tasks.ErrDisk) || errors.Is(err, tasks.ErrClosed):
		return fmt.Errorf("schedule %s: %w", s.Name, err)
	default: // such as a mailbox that is full: the next time it may fit
		told.Skipped = err.Error()
		c.journal.Tell(agent.Warning{Text: fmt.Sprintf("schedule %s: %v", s.Name, err)})
	}
	if told.Skipped == "" {
		r.Last = due
	}
	if told.Task != "" {
		r.Task = told.Task
	}
	c.noteSchedule(s.Name, *r)
	if err := c.store.Put(ctx, keySchedules, rawjson.Encode(c.times.records)); err != nil {
		return fmt.Errorf("store the schedules: %w", err)
	}
	c.journal.Tell(told)
	c.poke()
	return nil
}

// makeScheduled makes the task of a schedule, unless the one of the time before is
// still open: a team that falls behind would else get the same work again and again.
func (c *crew) makeScheduled(
	ctx context.Context, s configs.Schedule, last, call string,
) (id, skipped string, err error) {
	if last != "" {
		t, err := c.store.Task(ctx, last)
		if err == nil && t.Status != tasks.Completed {
			return "", "task " + last + " of the time before is still open", nil
		}
		if err != nil && !errors.Is(err, tasks.ErrNotFound) {
			return "", "", fmt.Errorf("task %s of the time before: %w", last, err)
		}
	}
	made, err := c.store.Add(ctx, actors.Actor{CallID: call}, []tasks.New{{
		Subject: s.Task.Subject, Description: s.Task.Description, Owner: s.Task.Owner, Labels: s.Task.Labels,
		Wants: tasks.Wants{Tools: s.Task.WantsTools, Role: s.Task.WantsRole, Labels: s.Task.WantsLabels},
	}})
	if err != nil || len(made) == 0 {
		return "", "", err
	}
	return made[0].ID, "", nil
}

// nextSchedule fires when the next schedule is due, or a little sooner; nil if none
// will be.
//
// Waits are cut to maxSleep and the time is looked at anew then: timers do not count
// the time in which a machine sleeps, and clocks are set.
func (c *crew) nextSchedule() <-chan time.Time {
	if len(c.times.plans) == 0 || c.times.next.IsZero() {
		return nil
	}
	return c.clock.After(min(max(c.times.next.Round(0).Sub(c.clock.Now().Round(0)), 0), maxSleep))
}
