package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// This file gives members their seats: all of them at the start, those that a changed spec adds, and
// those that begin another life. Seats of members that the spec no longer has are removed.

// SeatAll gives each member of the spec a seat, in the order of the spec. After an error
// the members before have theirs.
func (c *Crew) SeatAll(ctx context.Context) error {
	members := slices.Collect(c.deps.Team().Each()) // which seats share: copies would cost memory
	if c.deps.Hosts {
		members = members[:1]
	}
	// Many at a time, because those who wait share a commit; not all, because Go keeps some memory of
	// each goroutine for good.
	for some := range slices.Chunk(members, 100) {
		if err := c.seatSome(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// seatSome is SeatAll for some members.
func (c *Crew) seatSome(ctx context.Context, members []*configs.Member) error {
	sessions, errs := make([]actors.Member, len(members)), make([]error, len(members))
	var attaching sync.WaitGroup
	for i, m := range members {
		attaching.Go(func() { sessions[i], errs[i] = c.attach(ctx, m.Name) })
	}
	attaching.Wait()
	for i, m := range members {
		if errs[i] != nil {
			return errs[i]
		}
		s, err := c.newSeat(ctx, m, sessions[i])
		if err != nil {
			return fmt.Errorf("member %s: %w", m.Name, err)
		}
		c.deps.Seats.add(s)
	}
	return nil
}

// vacate ends a member's life in its seat: it closes what the member has open and leaves
// the seat to the crew's loop.
func (c *Crew) vacate(s *Seat) {
	s.Close(c.deps.Log)
	s.Life.Vacate()
	c.deps.Loop.Poke()
}

// fillVacated processes vacated seats: their members restart with their current spec, or have
// left the team. Only the crew's loop may call it.
func (c *Crew) fillVacated(ctx context.Context) error {
	for _, s := range c.deps.Seats.All() {
		if !s.Life.Free() {
			continue
		}
		if m, stays := specs.Member(c.deps.Team(), s.Member.Name); stays {
			err := c.seatAgain(ctx, s, m)
			if errors.Is(err, errUnseated) {
				c.keepUnseated(s, err)
				continue
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := c.removeSeat(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// removeSeat removes the seat of a member that is no longer in the spec. If the name comes
// back, it finds its session and its mail again.
//
// Once the seat has left the list, what the parts of the crew know of the name is
// forgotten, so that a later member of that name starts without it. Its tasks are opened
// before, while its name still means this member.
func (c *Crew) removeSeat(ctx context.Context, s *Seat) error {
	released, err := c.release(ctx, s.Member.Name, "the spec has no member of this name any more")
	if err != nil {
		return err
	}
	c.deps.Seats.put(slices.DeleteFunc(slices.Clone(c.deps.Seats.All()), func(o *Seat) bool { return o == s }))
	if err := tell(c, func(p Leaver) error { return p.Left(ctx, s.Member.Name) }); err != nil {
		return fmt.Errorf("forget member %s: %w", s.Member.Name, err)
	}
	if s.Member.Template != "" && s.Life.State().Gone != "" { // its lead was told when it left
		return nil
	}
	text := fmt.Sprintf("Teammate %s has left the team: it is no longer in the spec.", s.Member.Name)
	if len(released) > 0 {
		text += "\nOpen again: " + tasks.NamesOf(released)
	}
	c.deps.Loop.Poke()
	return c.tellLeadOf(ctx, s, text)
}

// seatLate seats a member that was added while the team runs.
func (c *Crew) seatLate(ctx context.Context, m configs.Member) error {
	s, err := c.seatOne(ctx, m)
	if err != nil {
		return err
	}
	c.deps.Seats.put(inFileOrder(append(slices.Clone(c.deps.Seats.All()), s), c.deps.Team().Members()))
	c.join(ctx, s)
	return nil
}

// seatAgain replaces a member's seat with a new one.
//
// The new seat is complete before it takes the old one's place in the list, so that readers
// never see a member without a seat. Only the crew's loop may call it.
func (c *Crew) seatAgain(ctx context.Context, old *Seat, m configs.Member) error {
	s, err := c.seatOne(ctx, m)
	if err != nil {
		return err
	}
	how := members.Return{SameAgent: m.Agent.Name == old.Member.Agent.Name, Rotated: c.passOn(old, s)}
	list := slices.Clone(c.deps.Seats.All())
	list[slices.Index(list, old)] = s
	c.deps.Seats.put(list)
	c.logError(ctx, s, tell(c, func(p Rejoiner) error { return p.Rejoined(ctx, s.Member, how) }))
	c.enter(ctx, s)
	return nil
}

// errUnseated is the reason for a member without a new seat; the team continues without
// it.
var errUnseated = errors.New("it could not be started")

// keepUnseated leaves a member that cannot have a new seat in its old one, where it takes no
// turns: its tasks and mail stay visible until a corrected spec brings it back. Only the
// crew's loop may call it.
func (c *Crew) keepUnseated(s *Seat, why error) {
	c.deps.Journal.Append(events.Event{Member: s.Member.Name, Data: events.Warning{Text: why.Error()}})
	s.journal(events.MemberLeft{Reason: why.Error()})
	s.Life.Exclude(why.Error())
	c.deps.Loop.Poke()
}

// seatOne makes a seat while the team runs; after an error nothing of it is open. It fails
// with errUnseated if the cause is the member's own.
func (c *Crew) seatOne(ctx context.Context, m configs.Member) (*Seat, error) {
	session, err := c.attach(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	s, err := c.newSeat(ctx, &m, session)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnseated, err)
	}
	s.late = true
	return s, nil
}

// attach gets a member's session from the store. A member that was here before continues
// its session, with the next epoch.
func (c *Crew) attach(ctx context.Context, member string) (actors.Member, error) {
	session, err := c.deps.Store.Members().Attach(ctx, member, uuid.NewString)
	if err != nil {
		return actors.Member{}, fmt.Errorf("member %s: %w", member, err)
	}
	return session, nil
}

// newSeat makes a seat for a member with its session; after an error nothing of it is
// open. A member that a hook has stopped permanently gets a seat too, so that its tasks,
// mail and cost are shown; it takes no turns.
func (c *Crew) newSeat(ctx context.Context, m *configs.Member, session actors.Member) (*Seat, error) {
	return c.newSeatOf(ctx, m, session, nil)
}

// newSeatOf is newSeat for a guest, or for a member of this host if guest is nil.
func (c *Crew) newSeatOf(ctx context.Context, m *configs.Member, session actors.Member, guest *port.Guest) (*Seat, error) {
	s := &Seat{Member: &members.Member{Member: m, Lead: m.Name == c.deps.Team().Lead.Name, Session: session}, crew: c,
		received: mail.Received{Member: m.Name}, guest: guest}
	if session.State == actors.StateHalted {
		s.Life.Retire(session.Reason)
	}
	occupant, err := c.occupy(ctx, s)
	if err != nil {
		s.Close(c.deps.Log)
		return nil, err
	}
	if occupant.Mate == nil {
		occupant.Mate = port.Local{Teammate: occupant.Teammate}
	}
	s.occupant = occupant
	if c.deps.Lane != nil {
		if s.lane, err = c.deps.Lane(s.Member); err != nil {
			s.Close(c.deps.Log)
			return nil, err
		}
	}
	return s, nil
}

// join starts a member that has its first seat of this run.
func (c *Crew) join(ctx context.Context, s *Seat) {
	c.logError(ctx, s, tell(c, func(p Joiner) error { return p.Joined(ctx, s.Member) }))
	c.enter(ctx, s)
}

// enter starts a member that has a seat.
func (c *Crew) enter(ctx context.Context, s *Seat) {
	gone := s.Life.State().Gone
	if gone == "" {
		c.deps.Group.Go(func() { c.serve(ctx, s) })
		return
	}
	c.begin(s)
	s.journal(events.MemberLeft{Reason: gone})
	s.Life.Exclude(gone)
	c.deps.Loop.Poke()
}

// inFileOrder sorts seats in the order of the spec. Members that are no longer in it come
// last.
func inFileOrder(seats []*Seat, members []configs.Member) []*Seat {
	places := map[string]int{}
	for i := range members {
		places[members[i].Name] = i
	}
	rank := func(s *Seat) int {
		if i, ok := places[s.Member.Name]; ok {
			return i
		}
		return len(members)
	}
	slices.SortStableFunc(seats, func(a, b *Seat) int { return rank(a) - rank(b) })
	return seats
}

// ReleaseTasksOfRemoved opens the tasks of members that are no longer in the spec, because
// nothing would wake them. A name that comes back later finds its session and its mail
// again.
func (c *Crew) ReleaseTasksOfRemoved(ctx context.Context) error {
	known, err := c.deps.Store.Members().List(ctx)
	if err != nil {
		return err
	}
	for _, m := range known {
		if _, ok := c.deps.Seats.Of(m.Name); ok {
			continue
		}
		if _, err := c.release(ctx, m.Name, "the spec has no member of this name any more"); err != nil {
			return fmt.Errorf("the tasks of %s, which is no longer a member: %w", m.Name, err)
		}
	}
	return nil
}

// ApplyChanges starts to apply a change of the spec to members. Those in a turn finish it;
// settle then processes them. If a member cannot be seated, people are warned and the
// others continue: the spec is in effect already, and the next covey up tries again.
func (c *Crew) ApplyChanges(ctx context.Context, changes []events.MemberChange) {
	for _, m := range changes {
		s, seated := c.deps.Seats.Of(m.Name)
		switch {
		case m.Change == events.MemberRetires && seated:
			s.Life.LeaveSeat(members.Removed)
		case m.Change == events.MemberRetires: // it has no seat
		case seated: // it changes, or was retired and is still in its turn
			s.Life.LeaveSeat(members.Restarting)
		default:
			member, _ := specs.Member(c.deps.Team(), m.Name)
			if err := c.seatLate(ctx, member); err != nil {
				c.deps.Journal.Append(events.Event{Member: m.Name, Data: events.Warning{
					Text: fmt.Sprintf("it has no place in the team yet; covey up tries again: %v", err),
				}})
			}
		}
	}
	c.deps.Loop.Poke()
}
