package configs

import (
	"time"
	_ "time/tzdata" // zones are part of a spec, and not every machine has the files

	"github.com/coveyteam/covey/configs/yaml"
)

// schedules resolves the section `schedules`.
//
// Names must be unique, as a schedule is known by its name in the store: two of one name
// would take each other's times.
func (r *taskRules) schedules(t *Team, specs list[scheduleSpec]) []Schedule {
	names := make([]string, 0, len(t.Teammates)+1)
	for _, m := range t.Members() {
		names = append(names, m.Name)
	}
	members, first := newDirectory("member", names), map[string]yaml.Position{}
	var out []Schedule
	for i := range specs.items {
		s := &specs.items[i]
		if before, twice := first[s.name.v]; twice && s.name.v != "" {
			r.fail(s.name.at.At, "the schedule of %s is called %s too; give one of them another name",
				r.lineOf(before, s.name.at.At), yaml.Quote(s.name.v))
		} else if s.name.at != nil {
			first[s.name.v] = s.name.at.At
		}
		schedule := Schedule{Name: s.name.v, Cron: s.cron.v, Zone: s.zone.v, To: s.to.v, Text: s.text.v}
		r.due(s, schedule)
		r.purpose(s)
		members.check(r.decoder, s.to)
		if s.task.at != nil {
			schedule.Task = r.scheduled(s, members, t)
		}
		out = append(out, schedule)
	}
	return out
}

// due checks when a schedule comes.
//
// "Local" is refused because a spec goes from machine to machine, and the word would hide
// that its times go along with the machine's. That a line such as 31 February never comes
// is found by asking for its next time.
func (r *taskRules) due(s *scheduleSpec, schedule Schedule) {
	if s.zone.v == "Local" {
		r.fail(s.zone.at.At, "the machine's zone is what holds without zone; remove it")
		return
	} else if _, err := time.LoadLocation(schedule.Zone); err != nil {
		r.fail(s.zone.at.At, "there is no time zone %s; write one such as Europe/Berlin or UTC", yaml.Quote(schedule.Zone))
		return
	}
	if s.cron.v == "" {
		return
	}
	next, err := schedule.Next(time.Now())
	switch {
	case err != nil:
		r.fail(s.cron.at.At, "%s is no time that comes again (%s); write five fields such as \"30 7 * * 1-5\", "+
			"or @hourly, @daily, @weekly", yaml.Quote(s.cron.v), yaml.Clip(err.Error()))
	case next.IsZero():
		r.fail(s.cron.at.At, "%s never comes; write a day that there is", yaml.Quote(s.cron.v))
	}
}

// purpose checks that a schedule does one thing.
func (r *taskRules) purpose(s *scheduleSpec) {
	message := s.to.given() || s.text.given()
	switch {
	case s.at == nil || s.at.Broken:
	case s.task.at != nil && message:
		r.fail(s.at.At, "a schedule has a task or a message, not both; make two schedules of them")
	case s.task.at == nil && !message:
		r.fail(s.at.At, "a schedule has a task or a message; add task: {subject: …}, or to: MEMBER and text: …")
	case s.task.at == nil && !s.to.given():
		r.fail(s.text.at.At, "nobody gets this; add to: MEMBER")
	case s.task.at == nil && !s.text.given():
		r.fail(s.to.at.At, "the message says nothing; add text: …")
	}
}

// scheduled resolves the task that a schedule makes.
func (r *taskRules) scheduled(s *scheduleSpec, members directory, t *Team) *Task {
	members.check(r.decoder, s.task.owner)
	checkTools(r.decoder, s.task.wants.tools, t.anyForeign())
	return &Task{
		ID: s.name.v, Subject: s.task.subject.v, Description: s.task.description.v, Owner: s.task.owner.v,
		Labels: words(s.task.labels), WantsTools: words(s.task.wants.tools),
		WantsRole: s.task.wants.role.v, WantsLabels: words(s.task.wants.labels),
	}
}

// anyForeign reports whether some member's agent brings tools of its own.
func (t *Team) anyForeign() bool {
	for _, m := range t.Members() {
		if m.Agent.foreign() {
			return true
		}
	}
	return false
}
