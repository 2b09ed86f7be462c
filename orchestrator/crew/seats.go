package crew

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/roster"
)

// Seats are the seats of a team's members: the lead's first, then as the spec has them. The zero
// value is empty. A spec may change while the team runs, so a list, once it is there, is never
// changed: who holds one goes through it in peace, and the next look shows another.
type Seats struct{ list atomic.Pointer[seatList] }

// seatList is one such list.
type seatList struct {
	all   []*Seat
	named func() map[string]*Seat // all by name; made when somebody is first looked for
}

// spots are a team's members as they stand in its spec, the lead first. Seats point to
// them: copies of them all would be a part of what an idle member costs.
func spots(team *configs.Team) []*configs.Member {
	list := []*configs.Member{&team.Lead}
	for i := range team.Teammates {
		list = append(list, &team.Teammates[i])
	}
	return list
}

// All are the members' seats now. Nobody may change the list.
func (l *Seats) All() []*Seat {
	if list := l.list.Load(); list != nil {
		return list.all
	}
	return nil
}

// Of finds a member.
func (l *Seats) Of(name string) (*Seat, bool) {
	list := l.list.Load()
	if list == nil {
		return nil, false
	}
	s, ok := list.named()[name]
	return s, ok
}

// add gives a seat its place behind all others. Only who hires may call it: two at
// once would lose one.
func (l *Seats) add(s *Seat) { l.put(append(slices.Clone(l.All()), s)) }

// put puts another list in place of the one that there is.
func (l *Seats) put(list []*Seat) {
	l.list.Store(&seatList{list, sync.OnceValue(func() map[string]*Seat {
		named := make(map[string]*Seat, len(list))
		for _, s := range list {
			named[s.Member.Name] = s
		}
		return named
	})})
}

// BySession finds the member of a session. Hooks name a session and no member,
// because the input that they get is fixed by what scripts expect.
func (l *Seats) BySession(id string) (*Seat, bool) {
	seats := l.All()
	i := slices.IndexFunc(seats, func(s *Seat) bool { return s.Member.Session.Session == id })
	if i < 0 {
		return nil, false
	}
	return seats[i], true
}

// SessionOf finds the member of a session.
func (l *Seats) SessionOf(id string) (*roster.Member, bool) {
	s, ok := l.BySession(id)
	if !ok {
		return nil, false
	}
	return s.Member, true
}

// Member finds a member that has a seat.
func (l *Seats) Member(name string) (*roster.Member, bool) {
	s, ok := l.Of(name)
	if !ok {
		return nil, false
	}
	return s.Member, true
}

// GoneFor returns why a member takes no more turns; empty: it does, or it has no seat.
func (l *Seats) GoneFor(member string) string {
	if s, ok := l.Of(member); ok {
		return s.Life.State().Gone
	}
	return ""
}

// Members are the members that have a seat.
func (l *Seats) Members() []*roster.Member {
	seats := l.All()
	list := make([]*roster.Member, len(seats))
	for i, s := range seats {
		list[i] = s.Member
	}
	return list
}

// teammates are the teammates that have not ended, as a recorded host lists them among
// its lead's background tasks: an idle one is running, too.
func (l *Seats) teammates() []hooks.BackgroundTask {
	var list []hooks.BackgroundTask
	for _, s := range l.All() {
		if s.Member.Lead || s.Life.State().Gone != "" {
			continue
		}
		what := s.Member.Description
		if what == "" {
			what = s.Member.Name
		}
		list = append(list, hooks.BackgroundTask{
			ID: teammateTask(s.Member.Session.Session), Type: "teammate", Status: "running", Description: what,
		})
	}
	return list
}

// Lead is the lead's seat. There is one as soon as the team is hired.
func (l *Seats) Lead() *Seat { return l.All()[0] }
