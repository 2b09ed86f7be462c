package configs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/wording"
)

// taskRules checks the tasks of a spec, and those of its schedules.
type taskRules struct{ *decoder }

// allTasks resolves the section `tasks`.
func (r *taskRules) allTasks(specs list[taskSpec], team []Member) []Task {
	ids := r.taskIDs(specs.items)
	names, anyForeign := make([]string, len(team)), false
	for i, m := range team {
		names[i] = m.Name
		anyForeign = anyForeign || m.Agent.foreign()
	}
	// Both directories are complete before the first task is looked at: a task
	// may wait for one that stands further down.
	members, blockers := newDirectory("member", names), newDirectory("task", ids)
	out := make([]Task, 0, len(specs.items))
	for i := range specs.items {
		t := &specs.items[i]
		task := Task{
			ID:          ids[i],
			Subject:     t.subject.v,
			Description: t.description.v,
			Owner:       t.owner.v,
			BlockedBy:   words(t.blockedBy),
			Labels:      words(t.labels),
			WantsTools:  words(t.wants.tools),
			WantsRole:   t.wants.role.v,
			WantsLabels: words(t.wants.labels),
		}
		checkTools(r.decoder, t.wants.tools, anyForeign)
		members.check(r.decoder, t.owner)
		for _, id := range t.blockedBy.items {
			blockers.check(r.decoder, id)
		}
		out = append(out, task)
	}
	r.cycles(specs.items, out)
	return out
}

// taskIDs gives every task its id: the one it names, or one made from its
// subject that nobody else has.
func (r *taskRules) taskIDs(tasks []taskSpec) []string {
	ids, line, first := make([]string, len(tasks)), map[string]int{}, map[string]yaml.Position{}
	for i, t := range tasks {
		if !t.id.given() || t.id.v == "" {
			continue
		}
		// The second one gets an id of its own below all the same, so that the
		// other mistakes of the spec are still found in this run.
		if before, twice := first[t.id.v]; twice {
			r.fail(t.id.at.At, "the task of %s has the id %s too; give one of them another id",
				r.lineOf(before, t.id.at.At), yaml.Quote(t.id.v))
			continue
		}
		ids[i], line[t.id.v], first[t.id.v] = t.id.v, t.id.at.At.Line, t.id.at.At
	}
	for i, t := range tasks {
		if ids[i] == "" {
			ids[i] = freeID(wording.Slug(t.subject.v), line)
			line[ids[i]] = -1
		}
	}
	return ids
}

// freeID returns base, or base with the first number that makes it unique.
func freeID(base string, taken map[string]int) string {
	if base == "" {
		base = "task"
	}
	id := base
	for n := 2; taken[id] != 0; n++ {
		suffix := fmt.Sprintf("-%d", n)
		id = strings.TrimRight(base[:min(len(base), 32-len(suffix))], "-") + suffix
	}
	return id
}

// directory knows who or what may be named in a place.
type directory struct {
	what  string
	names []string
	known map[string]bool
}

// newDirectory lists names; what is the word for one of them in messages.
func newDirectory(what string, names []string) directory {
	d := directory{what, names, map[string]bool{}}
	for _, name := range names {
		d.known[name] = true
	}
	return d
}

// check reports a name that nobody has.
func (d directory) check(report *decoder, name value[string]) {
	if name.v == "" || d.known[name.v] {
		return
	}
	switch near := report.nearest(name.v, d.names); {
	case near != "":
		report.fail(name.at.At, "there is no %s %s; write %s", d.what, yaml.Quote(name.v), near)
	case len(d.names) > 10:
		report.fail(name.at.At, "there is no %s %s; add it, or name another one", d.what, yaml.Quote(name.v))
	default:
		report.fail(name.at.At, "there is no %s %s; the spec has %s", d.what, yaml.Quote(name.v), strings.Join(d.names, ", "))
	}
}

// cycles reports tasks that wait for each other, each ring once.
func (r *taskRules) cycles(specs []taskSpec, tasks []Task) {
	index := make(map[string]int, len(tasks))
	for i, t := range tasks {
		index[t.ID] = i
	}
	const unseen, open, closed = 0, 1, 2
	state := make([]int, len(tasks))
	var path []string
	said := map[string]bool{}
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		path = append(path, tasks[i].ID)
		for _, blocker := range specs[i].blockedBy.items {
			next, ok := index[blocker.v]
			switch {
			case !ok:
			case state[next] == open:
				if message := ring(path, blocker.v); !said[message] {
					said[message] = true
					r.fail(blocker.at.At, "%s", message)
				}
			case state[next] == unseen:
				visit(next)
			}
		}
		path = path[:len(path)-1]
		state[i] = closed
	}
	for i := range tasks {
		if state[i] == unseen {
			visit(i)
		}
	}
}

// ring words a cycle: path ends in the task that closes it by waiting for
// back, which is on path.
func ring(path []string, back string) string {
	for i, id := range path {
		if id == back {
			path = path[i:]
			break
		}
	}
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
