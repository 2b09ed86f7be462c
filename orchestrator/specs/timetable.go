package specs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// SchedulesKey is the store key of the schedules' records.
const SchedulesKey = "schedules"

// scheduleRecord is what the store keeps of a schedule.
type scheduleRecord struct {
	From time.Time `json:"from"`           // it is next due after this time
	Last time.Time `json:"last,omitzero"`  // when it last ran
	Task string    `json:"task,omitempty"` // id of the last task that it made
	Mail string    `json:"mail,omitempty"` // id of the last message that it sent
	Own  *Own      `json:"own,omitempty"`  // what its member has made; nil: it is one of the spec
	// Plan is the schedule itself, for `covey ps` while the team does not run.
	Plan schedulePlan `json:"plan"`
}

// schedulePlan is the description of a schedule for people.
type schedulePlan struct {
	No         int // its index in the spec; for those of members, in the order in which they were made
	Cron, Zone string
	What       string // what it makes: "task Look at CI"
}

// planOf returns the plan of the schedule at an index in the spec.
func planOf(no int, s configs.Schedule) schedulePlan {
	p := schedulePlan{No: no, Cron: s.Cron, Zone: s.Zone, What: "message to " + s.To}
	if s.Task != nil {
		p.What = "task " + s.Task.Subject
	}
	return p
}

// wrongClock bounds how far in the future a record may be. One further ahead was written
// with a wrong clock, and would keep its schedule silent until then.
const wrongClock = 25 * time.Hour

// dueBy finds out whether a schedule is due now, and from which time on to look for its
// next run. Missed times lead to one run.
//
// due is zero if it is not due. With one missed time rest is that time, so that the next
// one is counted from there; with several it is now, which drops the others. A team that
// was down over a weekend must not begin Monday with sixty copies of a task. from is read
// in the zone of now; a schedule with its own zone uses that.
func dueBy(s configs.Schedule, from, now time.Time) (due, rest time.Time, err error) {
	from = from.In(now.Location())
	if from.After(now.Add(wrongClock)) {
		from = now
	}
	due, err = yaml.NextTime(s.Cron, s.Zone, from)
	if err != nil || due.IsZero() || due.After(now) {
		return time.Time{}, from, err
	}
	after, err := yaml.NextTime(s.Cron, s.Zone, due)
	if err != nil || after.IsZero() || after.After(now) {
		return due, due, err
	}
	return due, now, nil
}

// Timetable runs the schedules of a running team: those of its spec, and those that members
// have made for themselves. The time of each schedule's last run is in the store. Times that
// were missed while the team was down lead to one task or message when it is up again. Status,
// Add, Remove, Of and Awaits may be called from any goroutine, the other methods only from the
// team's loop and before the loop begins.
type Timetable struct {
	store   *tasks.Store
	journal *state.Journal
	clock   members.Clock
	loop    *members.Loop
	looked  time.Time // time of the last Due

	mu  sync.Mutex // guards now
	now ReadySchedules
}

// ReadySchedules are schedules that are ready for Use.
type ReadySchedules struct {
	list    []configs.Schedule // of the spec
	records map[string]scheduleRecord
	next    time.Time // when the first of them is due; zero: none
	forgets bool      // the store has records that may have to go
}

// NewTimetable returns a timetable without schedules. It pokes the loop after each run of one.
func NewTimetable(store *tasks.Store, j *state.Journal, c members.Clock, loop *members.Loop) *Timetable {
	return &Timetable{store: store, journal: j, clock: c, loop: loop}
}

// Replace replaces the schedules of the spec. Those that were there before keep their records, and
// new ones count from now.
//
// The name identifies a schedule: with another cron line it keeps its record, and a
// renamed one is new. Records of other names are dropped from the store, except those of the
// team's members.
func (t *Timetable) Replace(ctx context.Context, team *configs.Team) error {
	p, err := t.Plan(ctx, team)
	if err != nil {
		return err
	}
	if len(p.records) > 0 || p.forgets {
		if err := t.store.Put(ctx, SchedulesKey, p.Record()); err != nil {
			return fmt.Errorf("store the schedules: %w", err)
		}
	}
	t.Use(p)
	return nil
}

// Plan prepares the schedules of a spec with their records in the store. They take effect once
// their Record is stored under SchedulesKey and Use is called.
func (t *Timetable) Plan(ctx context.Context, team *configs.Team) (ReadySchedules, error) {
	known := map[string]scheduleRecord{}
	if err := tasks.ReadValue(ctx, t.store, SchedulesKey, &known); err != nil {
		return ReadySchedules{}, err
	}
	now := t.clock.Now()
	records := map[string]scheduleRecord{}
	for i, s := range team.Schedules {
		r, ok := known[s.Name]
		if !ok {
			r = scheduleRecord{From: now}
		}
		r.Plan = planOf(i, s)
		records[s.Name] = r
	}
	for name, r := range known {
		if r.Own != nil && slices.Contains(team.MemberNames(), r.Own.Member) {
			records[name] = r
		}
	}
	return ReadySchedules{list: team.Schedules, records: records, next: now, forgets: len(known) > 0}, nil
}

// Record returns the value to store under SchedulesKey.
func (p ReadySchedules) Record() json.RawMessage { return texts.Encode(p.records) }

// Use puts schedules into effect.
func (t *Timetable) Use(p ReadySchedules) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = p
}

// Due runs the schedules that are due. It implements crew.Timer.
//
// The loop calls it in each round, so most calls must cost nothing: next is the first
// time at which anything can be due. It is computed again when the clock is set back. An
// error ends the team; it comes only from the store or from a cron line that was checked
// before.
func (t *Timetable) Due(ctx context.Context) error {
	now := t.clock.Now().Round(0) // wall clock, because machines sleep
	setBack := now.Before(t.looked)
	t.looked = now
	if len(t.now.records) == 0 || t.now.next.IsZero() || t.now.next.After(now) && !setBack {
		return nil
	}
	var first time.Time
	for _, s := range t.now.all() {
		r := t.now.records[s.Name]
		due, rest, err := dueBy(s, r.From, now)
		if err != nil {
			return fmt.Errorf("schedule %s: %w", s.Name, err) // checked when the spec was read
		}
		if r.From = rest; !due.IsZero() {
			if err := t.runOne(ctx, s, &r, due); err != nil {
				return fmt.Errorf("schedule %s: %w", s.Name, err)
			}
			if _, goesOn := t.now.records[s.Name]; !goesOn {
				continue
			}
		}
		t.setRecord(s.Name, r)
		if next, err := yaml.NextTime(s.Cron, s.Zone, rest); err == nil && !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	t.mu.Lock()
	t.now.next = first
	t.mu.Unlock()
	return nil
}

// setRecord sets the record of a schedule for Status.
func (t *Timetable) setRecord(name string, r scheduleRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.records[name] = r
}

// runOne runs a schedule: it makes its task or sends its message, and stores that it did.
// After a crash in between it runs again under the same call id, which adds nothing.
//
// The call id consists of the schedule's name and the time at which it was due, so that
// the task or message is made once per time, also across crashes. If an intact store
// refuses it, it is reported as skipped, because one bad schedule must not end a team;
// disk errors and the end of the team are returned.
func (t *Timetable) runOne(ctx context.Context, s configs.Schedule, r *scheduleRecord, due time.Time) error {
	told := events.ScheduleRan{Name: s.Name, Due: due.UTC(), To: s.To}
	call := actors.CallID("schedule", s.Name+" "+due.UTC().Format(time.RFC3339))
	var err error
	if s.Task != nil {
		told.Task, told.Skipped, err = t.makeTask(ctx, s, r.Task, call)
	} else {
		told.Skipped, err = t.send(ctx, s, r, call)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, tasks.ErrDisk) || errors.Is(err, tasks.ErrClosed):
		return fmt.Errorf("schedule %s: %w", s.Name, err)
	default: // such as a full mailbox: the next time there may be room
		told.Skipped = err.Error()
		t.journal.Warn("schedule %s: %v", s.Name, err)
	}
	if told.Skipped == "" {
		r.Last = due
	}
	if told.Task != "" {
		r.Task = told.Task
	}
	records := maps.Clone(t.now.records)
	if records[s.Name] = *r; r.Own != nil && r.Own.Once && told.Skipped == "" {
		delete(records, s.Name)
	}
	if err := t.keep(ctx, records); err != nil {
		return err
	}
	t.journal.Tell(told)
	return nil
}

// keep stores other records, puts them into effect and pokes the loop.
func (t *Timetable) keep(ctx context.Context, records map[string]scheduleRecord) error {
	p := ReadySchedules{list: t.now.list, records: records, next: t.clock.Now()}
	if err := t.store.Put(ctx, SchedulesKey, p.Record()); err != nil {
		return fmt.Errorf("store the schedules: %w", err)
	}
	t.Use(p)
	t.loop.Poke()
	return nil
}

// send sends the message of a schedule, unless its last one is still unread: a member that is
// held for a night would otherwise find one for each hour.
func (t *Timetable) send(ctx context.Context, s configs.Schedule, r *scheduleRecord, call string) (skipped string, err error) {
	unread, err := t.store.Mail().Unread(ctx, s.To)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(unread, func(m mail.Message) bool { return m.ID == r.Mail }) {
		return "its message of the time before is still unread", nil
	}
	o := mail.Outgoing{To: []string{s.To}, Kind: mail.Notice, Text: fmt.Sprintf("Schedule %s (%s): %s", s.Name, s.Cron, s.Text)}
	if r.Own != nil {
		o.Kind, o.Text = mail.Reminder, fmt.Sprintf("You have scheduled this message to yourself (%s, %s): %s", s.Name, s.Cron, s.Text)
	}
	o.Summary = mail.Summary(o.Text)
	sent, err := t.store.Mail().Send(ctx, actors.Actor{CallID: call}, o)
	if err == nil {
		r.Mail = sent[0].ID
	}
	return "", err
}

// makeTask makes the task of a schedule, unless its last task is still open: a team that
// falls behind would otherwise collect copies of the same work.
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

// Describe sets when the next schedule is due. It implements crew.Describer.
func (t *Timetable) Describe(s *plan.Scene, _ []*members.Member) {
	if len(t.now.records) > 0 && !t.now.next.IsZero() {
		s.ChangesIn(max(t.now.next.Round(0).Sub(t.clock.Now().Round(0)), 0))
	}
}

// Status lists the schedules of the running team, those of the spec first.
func (t *Timetable) Status() []api.ScheduleStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return schedulesOf(t.now.records, t.clock.Now().Location())
}

// StoredSchedules lists the schedules of a team's last run from its store, as Status does. An
// edited spec takes effect with the next `covey up`.
func StoredSchedules(ctx context.Context, s *tasks.Store) ([]api.ScheduleStatus, error) {
	known := map[string]scheduleRecord{}
	err := tasks.ReadValue(ctx, s, SchedulesKey, &known)
	return schedulesOf(known, time.Local), err
}

// schedulesOf lists schedules in order. zone applies to those without one.
func schedulesOf(records map[string]scheduleRecord, zone *time.Location) []api.ScheduleStatus {
	var out []api.ScheduleStatus
	for _, name := range inOrder(records) {
		r := records[name]
		p := r.Plan
		st := api.ScheduleStatus{Name: name, Cron: p.Cron, Last: r.Last, What: p.What}
		if p.Zone != "" {
			st.Cron += " " + p.Zone
		}
		st.Next, _ = yaml.NextTime(p.Cron, p.Zone, r.From.In(zone)) // checked when the schedule was made
		out = append(out, st)
	}
	return out
}

// inOrder returns the names of schedules: those of the spec in its order, then those of members,
// the oldest first.
func inOrder(records map[string]scheduleRecord) []string {
	own := func(name string) int {
		if records[name].Own != nil {
			return 1
		}
		return 0
	}
	return slices.SortedFunc(maps.Keys(records), func(a, b string) int {
		return cmp.Or(own(a)-own(b), records[a].Plan.No-records[b].Plan.No, cmp.Compare(a, b))
	})
}
