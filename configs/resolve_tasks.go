package configs

import (
	"fmt"
	"slices"
	"strings"
)

// allTasks resolves the section `tasks`.
func (r *resolver) allTasks(specs list[taskSpec], members []Member) []Task {
	ids := r.taskIDs(specs.items)
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
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
		}
		r.reference(t.owner, "member", names)
		for _, id := range t.blockedBy.items {
			r.reference(id, "task", ids)
		}
		out = append(out, task)
	}
	r.cycles(specs.items, out)
	return out
}

// taskIDs gives every task its id: the one it names, or one made from its
// subject that nobody else has.
func (r *resolver) taskIDs(tasks []taskSpec) []string {
	ids, line := make([]string, len(tasks)), map[string]int{}
	for i, t := range tasks {
		if !t.id.given() || t.id.v == "" {
			continue
		}
		if before, twice := line[t.id.v]; twice {
			r.fail(t.id.at.at, "the task of line %d has the id %s too; give one of them another id",
				before, quote(t.id.v))
			continue
		}
		ids[i], line[t.id.v] = t.id.v, t.id.at.at.line
	}
	for i, t := range tasks {
		if ids[i] == "" {
			ids[i] = freeID(makeFit(t.subject.v), line)
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

// reference reports a name that nobody has.
func (r *resolver) reference(name value[string], what string, known []string) {
	if name.v == "" {
		return
	}
	for _, k := range known {
		if k == name.v {
			return
		}
	}
	switch near := nearest(name.v, known); {
	case near != "":
		r.fail(name.at.at, "there is no %s %s; write %s", what, quote(name.v), near)
	case len(known) > 10:
		r.fail(name.at.at, "there is no %s %s; add it, or name another one", what, quote(name.v))
	default:
		r.fail(name.at.at, "there is no %s %s; the spec has %s", what, quote(name.v), strings.Join(known, ", "))
	}
}

// cycles reports tasks that wait for each other, each ring once.
func (r *resolver) cycles(specs []taskSpec, tasks []Task) {
	index := make(map[string]int, len(tasks))
	for i, t := range tasks {
		index[t.ID] = i
	}
	const unseen, open, closed = 0, 1, 2
	state := make([]int, len(tasks))
	var path []string
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		path = append(path, tasks[i].ID)
		for _, blocker := range specs[i].blockedBy.items {
			next, ok := index[blocker.v]
			switch {
			case !ok:
			case state[next] == open:
				r.fail(blocker.at.at, "%s", ring(path, blocker.v))
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
