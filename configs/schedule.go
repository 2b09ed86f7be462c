package configs

import "github.com/coveyteam/covey/configs/yaml"

// Schedule is a recurring task or message.
type Schedule struct {
	Name string // unique in the spec
	Cron string // five fields, or @hourly, @daily and the like; checked
	Zone string // IANA name of the time zone; empty means the machine's
	Task *Task  // created each time; its ID is the schedule's name; nil for a message
	To   string // a member; empty for a task
	Text string // the message to To
}

// schedules resolves the section `schedules`.
//
// Names must be unique, because the store keeps the times of a schedule under its name.
func (r *taskRules) schedules(t *Team, specs yaml.List[scheduleSpec]) []Schedule {
	members, first := yaml.NewNameSet("member", t.MemberNames()), map[string]yaml.Position{}
	var out []Schedule
	for i := range specs.Items {
		s := &specs.Items[i]
		if before, twice := first[s.name.V]; twice && s.name.V != "" {
			r.Fail(s.name.At.At, "the schedule of %s is called %s too; give one of them another name",
				r.LineOf(before, s.name.At.At), yaml.Quote(s.name.V))
		} else if s.name.At != nil {
			first[s.name.V] = s.name.At.At
		}
		schedule := Schedule{Name: s.name.V, Cron: s.cron.V, Zone: s.zone.V, To: s.to.V, Text: s.text.V}
		r.CheckCron(s.cron, s.zone)
		r.checkPurpose(s)
		members.Check(r.Decoder, s.to)
		if s.task.at != nil {
			schedule.Task = r.scheduledTask(s, members, t)
		}
		out = append(out, schedule)
	}
	return out
}

// checkPurpose checks that a schedule has either a task or a message.
func (r *taskRules) checkPurpose(s *scheduleSpec) {
	message := s.to.Given() || s.text.Given()
	switch {
	case s.at == nil || s.at.Broken:
	case s.task.at != nil && message:
		r.Fail(s.at.At, "a schedule has a task or a message, not both; make two schedules of them")
	case s.task.at == nil && !message:
		r.Fail(s.at.At, "a schedule has a task or a message; add task: {subject: …}, or to: MEMBER and text: …")
	case s.task.at == nil && !s.to.Given():
		r.Fail(s.text.At.At, "the message has no recipient; add to: MEMBER")
	case s.task.at == nil && !s.text.Given():
		r.Fail(s.to.At.At, "the message has no text; add text: …")
	}
}

// scheduledTask resolves the task that a schedule creates.
func (r *taskRules) scheduledTask(s *scheduleSpec, members yaml.NameSet, t *Team) *Task {
	members.Check(r.Decoder, s.task.owner)
	checkTools(r.Decoder, s.task.wants.tools, t.MCPServers, t.anyForeign())
	return &Task{
		ID: s.name.V, Subject: s.task.subject.V, Description: s.task.description.V, Owner: s.task.owner.V,
		Labels: yaml.Words(s.task.labels), WantsTools: yaml.Words(s.task.wants.tools),
		WantsRole: s.task.wants.role.V, WantsLabels: yaml.Words(s.task.wants.labels),
	}
}

// anyForeign reports whether some member's agent has tools of its own.
func (t *Team) anyForeign() bool {
	for m := range t.Each() {
		if m.Agent.foreign() {
			return true
		}
	}
	return false
}

// scheduleSpec is one schedule.
type scheduleSpec struct {
	at                         *yaml.Node
	name, cron, zone, to, text yaml.Value[string]
	task                       scheduledSpec
}

// fields returns the keys of a schedule. The resolver checks that it has a task, or to and
// text.
func (s *scheduleSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "name", Need: true, Part: yaml.Ident(&s.name), Doc: "The schedule's name."},
		{Key: "cron", Need: true, Part: yaml.Text(&s.cron),
			Doc: "When: minute, hour, day of the month, month, day of the week, such as \"30 7 * * 1-5\"; or @hourly, " +
				"@daily, @weekly, @monthly, @yearly, or @every 90m."},
		{Key: "zone", Part: yaml.Text(&s.zone),
			Doc: "The time zone, such as Europe/Berlin. Default: the machine's."},
		{Key: "task", Part: yaml.Object(&s.task.at, s.task.fields()),
			Doc: "The task that is created each time, unless the previous one is still open."},
		{Key: "to", Part: yaml.Text(&s.to), Doc: "The member that gets a message each time."},
		{Key: "text", Part: yaml.Text(&s.text), Doc: "The text of the message."},
	}
}

// schedulePart decodes a schedule.
func schedulePart(s *scheduleSpec) yaml.Part {
	return yaml.Shared("schedule", yaml.Object(&s.at, s.fields()))
}

// scheduledSpec is a task that a schedule creates. It has no id and no blocked_by.
type scheduledSpec struct {
	at          *yaml.Node
	subject     yaml.Value[string]
	description yaml.Value[string]
	owner       yaml.Value[string]
	labels      yaml.List[yaml.Value[string]]
	wants       wantsSpec
}

// fields returns the keys of a task, without those that name other tasks of the spec.
func (t *scheduledSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "subject", Need: true, Part: yaml.Text(&t.subject), Doc: "What is to be done, in a few words."},
		{Key: "description", Part: yaml.Text(&t.description), Doc: "What is to be done, in full."},
		{Key: "owner", Part: yaml.Text(&t.owner), Doc: "The member that gets it and works on it first."},
		{Key: "labels", Part: yaml.Texts(&t.labels), Doc: "Words to sort tasks by."},
		{Key: "wants", Part: yaml.Object(nil, t.wants.fields()), Doc: "What a member must have to take it by itself."},
	}
}
