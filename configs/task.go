package configs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Task is a task of the spec.
type Task struct {
	ID          string // unique in the spec; not the id it is stored under
	Subject     string
	Description string
	Owner       string   // a member's name; empty if nobody owns it
	BlockedBy   []string // IDs of other tasks of the spec
	Labels      []string
	WantsTools  []string // tools that a member must have to claim it
	WantsRole   string   // the Member.Role that it must have; empty means any
	WantsLabels []string // the Member.Labels that it must have, all of them
}

// taskRules checks the tasks of a spec, and those of its schedules.
type taskRules struct{ *yaml.Decoder }

// allTasks resolves the section `tasks`.
func (r *taskRules) allTasks(specs yaml.List[taskSpec], of *Team) []Task {
	ids := r.taskIDs(specs.Items)
	// Both sets are complete before the first task is checked, because a task may be
	// blocked by a later one.
	members, blockers := yaml.NewNameSet("member", of.MemberNames()), yaml.NewNameSet("task", ids)
	out := make([]Task, 0, len(specs.Items))
	for i := range specs.Items {
		t := &specs.Items[i]
		t.ID = ids[i]
		r.check(t, members, of)
		blockers.Check(r.Decoder, t.at.Lookup("blocked_by"))
		r.untaken(t, of)
		out = append(out, t.Task)
	}
	r.cycles(specs.Items, out)
	return out
}

// check checks whom and what a task names.
func (r *taskRules) check(t *taskSpec, members yaml.NameSet, of *Team) {
	members.Check(r.Decoder, t.at.Lookup("owner"))
	checkTools(r.Decoder, t.at.Lookup("wants").Lookup("tools"), of.MCPServers, of.anyForeign())
}

// taskIDs returns the id of every task: the one it names, or a unique one made from its
// subject.
func (r *taskRules) taskIDs(tasks []taskSpec) []string {
	ids, first := make([]string, len(tasks)), map[string]yaml.Position{}
	for i, t := range tasks {
		if t.ID == "" {
			continue
		}
		at := t.at.Lookup("id").At
		// The second task gets an id of its own below, so that the other mistakes of the
		// spec are still found.
		if before, twice := first[t.ID]; twice {
			r.Fail(at, "the task of %s has the id %s too; give one of them another id", r.LineOf(before, at), yaml.Quote(t.ID))
			continue
		}
		ids[i], first[t.ID] = t.ID, at
	}
	for i, t := range tasks {
		if ids[i] == "" {
			ids[i] = yaml.FreeName(yaml.Slug(t.Subject), first)
			first[ids[i]] = yaml.Position{}
		}
	}
	return ids
}

// cycles reports tasks that wait for each other, each cycle once.
func (r *taskRules) cycles(specs []taskSpec, tasks []Task) {
	index, ids := make(map[string]int, len(tasks)), make([]string, len(tasks))
	for i, t := range tasks {
		index[t.ID], ids[i] = i, t.ID
	}
	blockers := func(id string) []string {
		if i, ok := index[id]; ok {
			return tasks[i].BlockedBy
		}
		return nil
	}
	reported := map[string]bool{}
	yaml.FindCycles(ids, blockers, func(path []string) {
		message := cycleMessage(path)
		if reported[message] {
			return
		}
		reported[message] = true
		last := specs[index[path[len(path)-1]]].at.Lookup("blocked_by")
		at := slices.IndexFunc(last.Items, func(b *yaml.Node) bool { return b.Text == path[0] })
		r.Fail(last.Items[at].At, "%s", message)
	})
}

// cycleMessage returns the message about a cycle of tasks.
func cycleMessage(path []string) string {
	back := path[0]
	if len(path) == 1 {
		return fmt.Sprintf("task %s is blocked by itself; remove it here", back)
	}
	const shown = 12
	if len(path) > shown {
		path = append(slices.Clone(path[:shown]), "…")
	}
	return fmt.Sprintf("these tasks wait for each other: %s -> %s; remove one blocked_by of them",
		strings.Join(path, " -> "), back)
}

// taskSpec is a task. What a mistake is reported of is found by its key in the node.
type taskSpec struct {
	Task
	at *yaml.Node
}

// fields returns the keys of a task. The resolver checks names of members and tasks.
func (t *taskSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "id", Part: yaml.Into(&t.ID, yaml.Ident),
			Doc: "The task's name in blocked_by. Default: the subject, as a slug."},
		{Key: "subject", Need: true, Part: yaml.Into(&t.Subject, yaml.Text),
			Doc: "What is to be done, in a few words."},
		{Key: "description", Part: yaml.Into(&t.Description, yaml.Text),
			Doc: "What is to be done, in full."},
		{Key: "owner", Part: yaml.Into(&t.Owner, yaml.Text),
			Doc: "The member that gets the task and works on it first."},
		{Key: "blocked_by", Part: yaml.Via(&t.BlockedBy, yaml.Texts, yaml.Words),
			Doc: "The ids of tasks that must be completed first."},
		{Key: "labels", Part: yaml.Via(&t.Labels, yaml.Texts, yaml.Words),
			Doc: "Words to sort tasks by."},
		{Key: "wants", Part: yaml.Object(nil, t.wants()),
			Doc: "What a member must have to take the task by itself."},
	}
}

// scheduledFields returns the keys of a task that a schedule creates: those that name no task of the spec.
func (t *taskSpec) scheduledFields() []yaml.Field {
	return slices.DeleteFunc(t.fields(), func(f yaml.Field) bool { return f.Key == "id" || f.Key == "blocked_by" })
}

// taskPart decodes a task.
func taskPart(t *taskSpec) yaml.Part {
	return yaml.Shared("task", yaml.Object(&t.at, t.fields()))
}

// wants returns what a task can require of a member.
func (t *taskSpec) wants() []yaml.Field {
	return []yaml.Field{
		{Key: "tools", Part: yaml.Via(&t.WantsTools, yaml.Texts, yaml.Words), Doc: "Tools it must have."},
		{Key: "role", Part: yaml.Into(&t.WantsRole, yaml.Text), Doc: "The role that it must have."},
		{Key: "labels", Part: yaml.Via(&t.WantsLabels, yaml.Texts, yaml.Words), Doc: "Labels that it must have, all of them."},
	}
}

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
		members.Check(r.Decoder, s.to.At)
		if s.task.at != nil {
			r.check(&s.task, members, t)
			schedule.Task = &s.task.Task
			schedule.Task.ID = s.name.V
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

// anyForeign reports whether some member's agent has tools of its own.
func (t *Team) anyForeign() bool {
	for m := range t.EachAndTemplates() {
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
	task                       taskSpec
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
		{Key: "task", Part: yaml.Object(&s.task.at, s.task.scheduledFields()),
			Doc: "The task that is created each time, unless the previous one is still open."},
		{Key: "to", Part: yaml.Text(&s.to), Doc: "The member that gets a message each time."},
		{Key: "text", Part: yaml.Text(&s.text), Doc: "The text of the message."},
	}
}

// schedulePart decodes a schedule.
func schedulePart(s *scheduleSpec) yaml.Part {
	return yaml.Shared("schedule", yaml.Object(&s.at, s.fields()))
}
