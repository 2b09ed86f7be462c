package view

import (
	"slices"

	"github.com/coveyteam/covey/tasks"
)

// index finds the entries of a State. It is made from them when it is first needed, also
// after a State was decoded.
type index struct {
	members  map[string]*Member
	tasks    map[string]*Task
	requests map[string]*Request
	awaited  []*Request // those that somebody waits for, in order
	unread   map[string]*Letter
	merges   map[string]*Merge
	turns    map[string]*Turn // the turn that goes on, by member
	gates    map[string]*Gate // by tool-use id
	judging  []*Gate          // those that have no verdict yet, in order
}

// found returns the index.
func (s *State) found() *index {
	if s.index.members == nil {
		s.index = s.newIndex()
	}
	return &s.index
}

// newIndex makes the index of the entries that the State has now.
func (s *State) newIndex() index {
	x := index{
		members: map[string]*Member{}, tasks: map[string]*Task{}, requests: map[string]*Request{},
		unread: map[string]*Letter{}, merges: map[string]*Merge{}, turns: map[string]*Turn{},
		gates: map[string]*Gate{},
	}
	for _, m := range s.Members {
		x.members[m.Name] = m
	}
	for _, t := range s.Tasks {
		x.tasks[t.ID] = t
	}
	for _, r := range s.Requests {
		x.requests[r.ID] = r
		if r.Awaits != "" {
			x.awaited = append(x.awaited, r)
		}
	}
	for _, m := range s.Mail {
		if m.Delivered.IsZero() {
			x.unread[m.ID] = m
		}
	}
	for _, m := range s.Merges {
		x.merges[m.ID] = m
	}
	for _, t := range s.Turns {
		if t.Reason == "" {
			x.turns[t.Member] = t
		}
	}
	for _, g := range s.Gates {
		x.gates[g.ID] = g
		if g.Verdict == Judging {
			x.judging = append(x.judging, g)
		}
	}
	return x
}

// member returns a member, and adds it if it is new.
func (s *State) member(name string) *Member {
	x := s.found()
	if m := x.members[name]; m != nil {
		return m
	}
	m := newMember(name)
	m.Awaits = s.awaits(name)
	s.Members = append(s.Members, m)
	x.members[name] = m
	for _, t := range s.Tasks { // before its first line
		if t.isWorkOf(name) {
			m.InProgress = append(m.InProgress, t.ID)
		}
	}
	for _, letter := range x.unread {
		if letter.To == name {
			m.Unread++
		}
	}
	return m
}

// task returns a task, and adds it at its place if it is new.
func (s *State) task(id string) (t *Task, isNew bool) {
	x := s.found()
	if t := x.tasks[id]; t != nil {
		return t, false
	}
	t = &Task{Task: tasks.Task{ID: id}}
	x.tasks[id] = t
	i := len(s.Tasks)
	for i > 0 && tasks.CompareIDs(id, s.Tasks[i-1].ID) < 0 { // most new tasks come last
		i--
	}
	s.Tasks = slices.Insert(s.Tasks, i, t)
	return t, true
}
