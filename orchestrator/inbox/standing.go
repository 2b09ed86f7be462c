package inbox

import (
	"cmp"
	"slices"

	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// questions holds the open requests, sorted, and their meaning for each member.
// It is immutable and computed once per change, because it is read often and
// seldom changes.
type questions struct {
	requests.Sorted
	standing map[string]standing       // by member; only members that wait for an answer or owe one
	places   *members.Places[standing] // used by Describe, under reminders.mu
	bounded  bool                      // one of them has a deadline
}

// standing is the meaning of the open requests for one member.
type standing struct {
	awaits string   // the answer that it waits for, as text after "waits for "; empty: none
	from   string   // the member that has to answer; empty: none, or a person
	owes   []string // the ids of the requests that it has to answer
	mark   string   // these ids in one text
}

// sort sorts the open requests.
func sort(open []requests.Request) questions {
	q := questions{
		Sorted: requests.Sort(open), standing: map[string]standing{}, places: &members.Places[standing]{},
		bounded: slices.ContainsFunc(open, func(r requests.Request) bool { return !r.Deadline.IsZero() }),
	}
	for member, about := range q.About {
		if s := waitsFor(about); s.awaits != "" {
			q.standing[member] = s
		}
	}
	for member, list := range q.To {
		s := q.standing[member]
		for _, r := range list {
			s.owes = append(s.owes, r.ID)
			s.mark += r.ID + " "
		}
		q.standing[member] = s
	}
	return q
}

// waitsFor returns the standing of the member that these requests are about.
func waitsFor(about []requests.Request) (s standing) {
	for _, r := range about {
		awaits := Awaits(r)
		if awaits == "" {
			continue
		}
		s.awaits = cmp.Or(s.awaits, awaits)
		if s.from == "" && r.To != actors.Operator {
			s.from = r.To
		}
	}
	return s
}

// Describe sets which members wait for an answer, and which owe one. The team does not end before
// the deadline of an open question; questions about members that need attention have none. It
// implements crew.Describer.
func (b *Inbox) Describe(s *plan.Scene, _ []*members.Member) {
	q, seats := b.sorted(), s.Seats
	s.Busy = s.Busy || q.bounded
	if len(q.standing) == 0 {
		return
	}
	b.reminders.mu.Lock()
	defer b.reminders.mu.Unlock()
	reminded := len(b.reminders.times) > 0
	find := func(member string) standing { return q.standing[member] }
	for i := range seats {
		v := &seats[i]
		s := q.places.At(i, v.Name, find)
		v.Awaits, v.AwaitsFrom, v.Questions = s.awaits, s.from, s.mark
		if reminded && s.mark != "" {
			v.Questions, v.Unanswered = b.reminders.mark(s.owes), b.reminders.unanswered(s.owes)
		}
	}
}
