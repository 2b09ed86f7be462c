package orchestrator

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/configs"
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

// seats are the members' seats now. Nobody may change the list.
func (c *crew) seats() []*seat {
	if list := c.seating.list.Load(); list != nil {
		return list.all
	}
	return nil
}

// seat finds a member.
func (c *crew) seat(name string) (*seat, bool) {
	list := c.seating.list.Load()
	if list == nil {
		return nil, false
	}
	s, ok := list.named()[name]
	return s, ok
}

// sit gives a seat its place behind all others. Only who hires may call it: two at
// once would lose one.
func (c *crew) sit(s *seat) { c.seatAs(append(slices.Clone(c.seats()), s)) }

// seatAs puts another list in place of the one that there is.
func (c *crew) seatAs(list []*seat) {
	c.seating.list.Store(&seatList{list, sync.OnceValue(func() map[string]*seat {
		named := make(map[string]*seat, len(list))
		for _, s := range list {
			named[s.member.Name] = s
		}
		return named
	})})
}
