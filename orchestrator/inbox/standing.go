package inbox

import (
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// questions are the open questions, sorted, and what they mean for each member. Nobody may
// change them. They are asked about every member again and again, and seldom change.
type questions struct {
	requests.Sorted
	standing map[string]standing      // of the members that wait for an answer or owe one
	places   *roster.Places[standing] // of View, which locks it
}

// standing is what the open questions mean for one member.
type standing struct {
	awaits string   // for whose answer it waits, for people, behind "waits for "; empty: for nobody's
	from   string   // the member whose answer it waits for; empty: nobody's, or a person's
	owes   []string // the ids of the questions that it is to answer
	mark   string   // of all of these
}

// sort looks at each question once.
func sort(open []requests.Request) questions {
	q := questions{requests.Sort(open), map[string]standing{}, &roster.Places[standing]{}}
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

// waitsFor is the standing of a member that these questions are about.
func waitsFor(about []requests.Request) (s standing) {
	for _, r := range about {
		if !holdsUp(r) {
			continue
		}
		if s.awaits == "" {
			s.awaits = Awaited(r)
		}
		if s.from == "" && r.To != actors.Operator {
			s.from = r.To
		}
	}
	return s
}

// Awaits returns for whose answer a member waits, for people, behind "waits for ";
// empty: for nobody's.
func (b *Inbox) Awaits(member string) string { return b.sorted().standing[member].awaits }

// View tells plan who waits for an answer, and who owes one.
func (b *Inbox) View(seats []plan.Seat) {
	q := b.sorted()
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
			v.Questions = b.reminders.mark(s.owes)
		}
	}
}
