// Package schedule keeps the schedules of a running team: it makes their tasks and sends
// their messages when they are due, also those that were missed while nobody was up. It is
// covey's own and makes no promise to other programs.
//
// The time at which a schedule ran last is in the store. A time that was missed makes one
// task or message when the team is up again, however many times were missed.
package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// Key is the key of the store under which stands when each schedule came last.
const Key = "schedules"

// maxSleep is how long no clock is looked at: timers stand still while a machine sleeps.
const maxSleep = time.Minute

// Ran is told each time that a schedule comes.
type Ran struct {
	Name string    `json:"name"`
	Due  time.Time `json:"due"` // when it was due; earlier than its line if nobody was up then
	Task string    `json:"task_id,omitempty"`
	To   string    `json:"to,omitempty"`
	// Skipped is why nothing came of it; empty: it did.
	Skipped string `json:"skipped,omitempty"`
}

// EventType is the journal's name for it.
func (Ran) EventType() string { return "schedule" }

// record is what the store knows of a schedule.
type record struct {
	From time.Time `json:"from"`           // it is due at the first time after this
	Last time.Time `json:"last,omitzero"`  // when it came last
	Task string    `json:"task,omitempty"` // that it made last
	// Plan is the schedule itself as the last run had it, for who looks when none runs.
	Plan plan `json:"plan,omitzero"`
}

// plan is what people see of a schedule.
type plan struct {
	No         int // its place in the spec, from 0
	Cron, Zone string
	What       string // that comes: "task Look at CI"
}

// planOf is the plan of the schedule at a place in the spec.
func planOf(no int, s configs.Schedule) plan {
	p := plan{No: no, Cron: s.Cron, Zone: s.Zone, What: "message to " + s.To}
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

// Timetable is the schedules of a running team. Status may be called from any goroutine,
// the other methods only from the team's loop, and before that begins.
type Timetable struct {
	store   *tasks.Store
	journal *journal.Journal
	clock   routine.Clock
	came    func()
	looked  time.Time // when Run was called last

	mu  sync.Mutex // guards now
	now Plans
}

// Plans are schedules, and what is known of them.
type Plans struct {
	list    []configs.Schedule
	records map[string]record
	next    time.Time // when the first of them is due; zero: none is
	forgets bool      // the store had some that may be gone
}

// New is a timetable without schedules. It calls came after each schedule that has come.
func New(store *tasks.Store, j *journal.Journal, c routine.Clock, came func()) *Timetable {
	return &Timetable{store: store, journal: j, clock: c, came: came}
}

// Take takes schedules over: what is known of those that were there before stays, and
// new ones count from now.
//
// A schedule is known by its name: one with another cron line under the same name keeps
// its past, and one that was renamed is new. Names that are gone are dropped from the
// store.
func (t *Timetable) Take(ctx context.Context, list []configs.Schedule) error {
	p, err := t.Plan(ctx, list)
	if err != nil {
		return err
	}
	if len(list) > 0 || p.forgets {
		if err := t.store.Put(ctx, Key, p.Record()); err != nil {
			return fmt.Errorf("store the schedules: %w", err)
		}
	}
	t.Use(p)
	return nil
}

// Plan makes schedules ready to be used, with what the store knows of them. They count
// once their Record is stored under Key and Use was called.
func (t *Timetable) Plan(ctx context.Context, list []configs.Schedule) (Plans, error) {
	known := map[string]record{}
	if err := tasks.ReadValue(ctx, t.store, Key, &known); err != nil {
		return Plans{}, err
	}
	now := t.clock.Now()
	records := map[string]record{}
	for i, s := range list {
		r, ok := known[s.Name]
		if !ok {
			r = record{From: now}
		}
		r.Plan = planOf(i, s)
		records[s.Name] = r
	}
	return Plans{list: list, records: records, next: now, forgets: len(known) > 0}, nil
}

// Record is what the store keeps of the schedules.
func (p Plans) Record() json.RawMessage { return notation.Encode(p.records) }

// Use has schedules count.
func (t *Timetable) Use(p Plans) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = p
}

// Run lets come what is due.
//
// The loop calls it with each round, so most calls must cost nothing: next is the first
// time at which anything can be due. It was found by a clock that may have been wrong: when
// that is set back, it is found anew. An error ends the team, and comes only from the
// store or from a cron line that was checked before.
func (t *Timetable) Run(ctx context.Context) error {
	now := t.clock.Now().Round(0) // by the wall clock alone: machines sleep
	setBack := now.Before(t.looked)
	t.looked = now
	if len(t.now.list) == 0 || t.now.next.IsZero() || t.now.next.After(now) && !setBack {
		return nil
	}
	var first time.Time
	for _, s := range t.now.list {
		r := t.now.records[s.Name]
		due, rest, err := dueBy(s, r.From, now)
		if err != nil {
			return fmt.Errorf("schedule %s: %w", s.Name, err) // it was checked when the spec was read
		}
		if r.From = rest; !due.IsZero() {
			if err := t.come(ctx, s, &r, due); err != nil {
				return fmt.Errorf("schedule %s: %w", s.Name, err)
			}
		}
		t.note(s.Name, r)
		if next, err := s.Next(rest); err == nil && !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	t.mu.Lock()
	t.now.next = first
	t.mu.Unlock()
	return nil
}

// note keeps what is known of a schedule for those who look.
func (t *Timetable) note(name string, r record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.records[name] = r
}

// come lets a schedule come: it makes its task or sends its message, and notes that
// it did. A crash in between does it again under the same call id, which adds
// nothing.
//
// The call id is made of the schedule's name and the time at which it was due, so that
// both the task and the message are made once per such time, over crashes too. What a
// store that is whole refuses is told as skipped, as one bad schedule must not end a
// team; a disk that fails and an end of the team are passed on.
func (t *Timetable) come(ctx context.Context, s configs.Schedule, r *record, due time.Time) error {
	told := Ran{Name: s.Name, Due: due.UTC(), To: s.To}
	call := actors.CallID("schedule", s.Name+" "+due.UTC().Format(time.RFC3339))
	var err error
	if s.Task != nil {
		told.Task, told.Skipped, err = t.makeTask(ctx, s, r.Task, call)
	} else {
		text := fmt.Sprintf("Schedule %s (%s): %s", s.Name, s.Cron, s.Text)
		_, err = t.store.Mail().Send(ctx, actors.Actor{CallID: call}, mail.Outgoing{
			To: []string{s.To}, Kind: mail.Notice, Text: text, Summary: mail.Summary(text),
		})
	}
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, tasks.ErrDisk) || errors.Is(err, tasks.ErrClosed):
		return fmt.Errorf("schedule %s: %w", s.Name, err)
	default: // such as a mailbox that is full: the next time it may fit
		told.Skipped = err.Error()
		t.journal.Tell(agent.Warning{Text: fmt.Sprintf("schedule %s: %v", s.Name, err)})
	}
	if told.Skipped == "" {
		r.Last = due
	}
	if told.Task != "" {
		r.Task = told.Task
	}
	t.note(s.Name, *r)
	if err := t.store.Put(ctx, Key, t.now.Record()); err != nil {
		return fmt.Errorf("store the schedules: %w", err)
	}
	t.journal.Tell(told)
	t.came()
	return nil
}

// makeTask makes the task of a schedule, unless the one of the time before is
// still open: a team that falls behind would else get the same work again and again.
func (t *Timetable) makeTask(
	ctx context.Context, s configs.Schedule, last, call string,
) (id, skipped string, err error) {
	if last != "" {
		before, err := t.store.Task(ctx, last)
		if err == nil && before.Status != tasks.Completed {
			return "", "task " + last + " of the time before is still open", nil
		}
		if err != nil && !errors.Is(err, tasks.ErrNotFound) {
			return "", "", fmt.Errorf("task %s of the time before: %w", last, err)
		}
	}
	made, err := t.store.Add(ctx, actors.Actor{CallID: call}, []tasks.New{{
		Subject: s.Task.Subject, Description: s.Task.Description, Owner: s.Task.Owner, Labels: s.Task.Labels,
		Wants: tasks.Wants{Tools: s.Task.WantsTools, Role: s.Task.WantsRole, Labels: s.Task.WantsLabels},
	}})
	if err != nil || len(made) == 0 {
		return "", "", err
	}
	return made[0].ID, "", nil
}

// Wait fires when the next schedule is due, or a little sooner; nil if none will be.
//
// Waits are cut to maxSleep and the time is looked at anew then: timers do not count
// the time in which a machine sleeps, and clocks are set.
func (t *Timetable) Wait() <-chan time.Time {
	if len(t.now.list) == 0 || t.now.next.IsZero() {
		return nil
	}
	return t.clock.After(min(max(t.now.next.Round(0).Sub(t.clock.Now().Round(0)), 0), maxSleep))
}
