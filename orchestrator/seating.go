package orchestrator

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/roster"
)

// seating is who has a seat in a crew: the lead first, then as the spec has them.
// A spec may change while the team runs, so a list, once it is there, is never
// changed: who holds one goes through it in peace, and the next look shows another.
type seating struct{ list atomic.Pointer[seatList] }

// seatList is one such list.
type seatList struct {
	all   []*seat
	named func() map[string]*seat // all by name; made when somebody is first looked for
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

// all are the members' seats now. Nobody may change the list.
func (l *seating) all() []*seat {
	if list := l.list.Load(); list != nil {
		return list.all
	}
	return nil
}

// of finds a member.
func (l *seating) of(name string) (*seat, bool) {
	list := l.list.Load()
	if list == nil {
		return nil, false
	}
	s, ok := list.named()[name]
	return s, ok
}

// add gives a seat its place behind all others. Only who hires may call it: two at
// once would lose one.
func (l *seating) add(s *seat) { l.put(append(slices.Clone(l.all()), s)) }

// put puts another list in place of the one that there is.
func (l *seating) put(list []*seat) {
	l.list.Store(&seatList{list, sync.OnceValue(func() map[string]*seat {
		named := make(map[string]*seat, len(list))
		for _, s := range list {
			named[s.member.Name] = s
		}
		return named
	})})
}

// bySession finds the member of a session. Hooks name a session and no member,
// because the input that they get is fixed by what scripts expect.
func (l *seating) bySession(id string) (*seat, bool) {
	seats := l.all()
	i := slices.IndexFunc(seats, func(s *seat) bool { return s.member.Session.Session == id })
	if i < 0 {
		return nil, false
	}
	return seats[i], true
}

// sessionOf is the member of bySession.
func (l *seating) sessionOf(id string) (*roster.Member, bool) {
	s, ok := l.bySession(id)
	if !ok {
		return nil, false
	}
	return s.member, true
}

// member finds a member that has a seat.
func (l *seating) member(name string) (*roster.Member, bool) {
	s, ok := l.of(name)
	if !ok {
		return nil, false
	}
	return s.member, true
}

// goneFor is that of a member's seat, by its name; empty, too, for who has none.
func (l *seating) goneFor(member string) string {
	if s, ok := l.of(member); ok {
		return s.life.State().Gone
	}
	return ""
}

// members are the members that have a seat.
func (l *seating) members() []*roster.Member {
	seats := l.all()
	list := make([]*roster.Member, len(seats))
	for i, s := range seats {
		list[i] = s.member
	}
	return list
}

// teammates are the teammates that have not ended, as a recorded host lists them among
// its lead's background tasks: an idle one is running, too.
func (l *seating) teammates() []hooks.BackgroundTask {
	var list []hooks.BackgroundTask
	for _, s := range l.all() {
		if s.member.Lead || s.life.State().Gone != "" {
			continue
		}
		what := s.member.Description
		if what == "" {
			what = s.member.Name
		}
		list = append(list, hooks.BackgroundTask{
			ID: teammateTask(s.member.Session.Session), Type: "teammate", Status: "running", Description: what,
		})
	}
	return list
}

// lead is the lead's seat. There is one as soon as the team is hired.
func (l *seating) lead() *seat { return l.all()[0] }
