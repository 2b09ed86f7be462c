package crew

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/members"
)

// Seats are the seats of a team's members: the lead's first, then in the order of the
// spec. The zero value is empty. The spec may change while the team runs, so a list is
// never changed but replaced: a reader can iterate over the list that it has.
type Seats struct{ list atomic.Pointer[seatList] }

// seatList is one version of the list.
type seatList struct {
	all     []*Seat
	members []*members.Member       // of all
	named   func() map[string]*Seat // all by name; made on first use
}

// All returns the current seats. The caller must not change the list.
func (l *Seats) All() []*Seat {
	if list := l.list.Load(); list != nil {
		return list.all
	}
	return nil
}

// Of returns the seat of a member.
func (l *Seats) Of(name string) (*Seat, bool) {
	list := l.list.Load()
	if list == nil {
		return nil, false
	}
	s, ok := list.named()[name]
	return s, ok
}

// TakesTurns reports whether a member has a seat, and has not ended for this run.
func (l *Seats) TakesTurns(name string) bool {
	s, ok := l.Of(name)
	return ok && s.Life.State().Gone == ""
}

// add appends a seat. Only the goroutine that seats members may call it: of two
// concurrent calls one would be lost.
func (l *Seats) add(s *Seat) { l.put(append(slices.Clone(l.All()), s)) }

// put replaces the list.
func (l *Seats) put(list []*Seat) {
	all := make([]*members.Member, len(list))
	for i, s := range list {
		all[i] = s.Member
	}
	l.list.Store(&seatList{list, all, sync.OnceValue(func() map[string]*Seat {
		named := make(map[string]*Seat, len(list))
		for _, s := range list {
			named[s.Member.Name] = s
		}
		return named
	})})
}

// BySession returns the seat with a session. Hooks name only a session, because their
// input format is fixed.
func (l *Seats) BySession(id string) (*Seat, bool) {
	seats := l.All()
	i := slices.IndexFunc(seats, func(s *Seat) bool { return s.Member.Session.Session == id })
	if i < 0 {
		return nil, false
	}
	return seats[i], true
}

// SessionOf returns the member with a session.
func (l *Seats) SessionOf(id string) (*members.Member, bool) {
	s, ok := l.BySession(id)
	if !ok {
		return nil, false
	}
	return s.Member, true
}

// Member returns a member that has a seat.
func (l *Seats) Member(name string) (*members.Member, bool) {
	s, ok := l.Of(name)
	if !ok {
		return nil, false
	}
	return s.Member, true
}

// Caller returns a member as an MCP caller, in its current life. Members on other hosts call there.
func (l *Seats) Caller(member string) (*mcp.Caller, bool) {
	s, ok := l.Of(member)
	if !ok || s.Caller() == nil {
		return nil, false
	}
	return s.Caller(), true
}

// MemberOf returns the name of the member that an input of hooks is about; empty: none. Inputs
// of the lead's hooks have no teammate_name, so it uses the session.
func (l *Seats) MemberOf(in hooks.Input) string {
	if _, name := in.Member(); name != "" {
		return name
	}
	if m, ok := l.SessionOf(in.SessionID); ok {
		return m.Name
	}
	return ""
}

// StateOf returns the lifecycle state of a member; false if it has no seat.
func (l *Seats) StateOf(member string) (members.State, bool) {
	s, ok := l.Of(member)
	if !ok {
		return members.State{}, false
	}
	return s.Life.State(), true
}

// Now returns what a member does now, and why it takes no more turns; both are empty if it has
// no seat.
func (l *Seats) Now(name string) (state, gone string) {
	s, ok := l.Of(name)
	if !ok {
		return "", ""
	}
	return string(s.crew.deps.State.Status(name).State), s.Life.State().Gone
}

// Turn returns the number of a member's turn; 0: it has no seat.
func (l *Seats) Turn(member string) int {
	if s, ok := l.Of(member); ok {
		return s.Turn()
	}
	return 0
}

// SetMode sets the permission mode of a member that has a seat.
func (l *Seats) SetMode(member, mode string) error {
	if s, ok := l.Of(member); ok {
		return s.Mate().SetMode(mode)
	}
	return nil
}

// Fire fires an event for a member, or for the lead if the member has no seat.
func (l *Seats) Fire(ctx context.Context, member string, p hooks.Payload) (hooks.Outcome, error) {
	s, ok := l.Of(member)
	if !ok {
		s = l.Lead()
	}
	return s.Mate().Fire(ctx, p)
}

// GoneFor returns why a member takes no more turns; empty if it does, or has no seat.
func (l *Seats) GoneFor(member string) string {
	s, _ := l.StateOf(member)
	return s.Gone
}

// Members returns the members that have a seat, in the order of All. The caller must not change the
// list.
func (l *Seats) Members() []*members.Member {
	if list := l.list.Load(); list != nil {
		return list.members
	}
	return nil
}

// Interrupt interrupts the turn of a member that has a seat.
func (l *Seats) Interrupt(member, reason string) {
	if s, ok := l.Of(member); ok {
		s.Interrupt(reason)
	}
}

// teammates returns the teammates that have not ended, as a lead's background tasks. An
// idle one counts as running, as in a recorded host.
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
			ID: teammateTask(s.Member.Session.Life()), Type: "teammate", Status: "running", Description: what,
		})
	}
	return list
}

// Lead returns the lead's seat. SeatAll must have run.
func (l *Seats) Lead() *Seat { return l.All()[0] }

// LeadMember returns the lead. SeatAll must have run.
func (l *Seats) LeadMember() *members.Member { return l.Lead().Member }
