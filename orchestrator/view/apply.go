package view

import (
	"time"

	"github.com/coveyteam/covey/orchestrator/journal"
)

// Apply changes the State by the next line of the journal.
func (s *State) Apply(l journal.Line) {
	if l.Seq <= s.Seq {
		return
	}
	s.Version, s.Team = Version, l.Team
	s.Seq, s.Time = l.Seq, l.Time
}

// index finds the entries of a State. It is made from them when it is first needed, also
// after a State was decoded.
type index struct {
	members  map[string]*Member
	tasks    map[string]*Task
	requests map[string]*Request
	unread   map[string]*Letter
	merges   map[string]*Merge
	turns    map[string]*Turn // the turn that goes on, by member
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
	}
	for _, m := range s.Members {
		x.members[m.Name] = m
	}
	for _, t := range s.Tasks {
		x.tasks[t.ID] = t
	}
	for _, r := range s.Requests {
		x.requests[r.ID] = r
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
	return x
}

// isOpen reports whether a request waits for its answer.
func (s *State) isOpen(id string) bool {
	r := s.found().requests[id]
	return r != nil && r.Open()
}

// since returns when the state of a merge began.
func (m *Merge) since() time.Time {
	if len(m.Steps) == 0 {
		return m.Updated
	}
	return m.Steps[len(m.Steps)-1].Time
}
