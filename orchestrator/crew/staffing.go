package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// staffing gives members their seats: when the team begins, when one begins anew, and when the
// spec changes.
type staffing struct{ c *Crew }

// SeatAll gives each member of the spec a seat. Its teammate comes later: all seats stand
// before the hooks are ready, because a hook's member is found by its session among them.
func (c *Crew) SeatAll(ctx context.Context) error {
	for _, m := range spots(c.team()) {
		s, err := staffing{c}.newSeat(ctx, m)
		if err != nil {
			return fmt.Errorf("member %s: %w", m.Name, err)
		}
		c.seats.add(s)
	}
	return nil
}

// vacate is the end of a member's life in its seat: all that it had open is closed,
// and the crew's loop sees to who sits there next.
func (c *Crew) vacate(s *Seat) {
	s.Close(c.log)
	s.Life.Vacate()
	c.loop.Poke()
}

// settle sees to seats that were given up: their members begin anew as the spec has
// them by now, or have left the team. In the crew's loop only.
func (h staffing) settle(ctx context.Context) error {
	for _, s := range h.c.seats.All() {
		if !s.Life.Free() {
			continue
		}
		if m, stays := specs.Member(h.c.team(), s.Member.Name); stays {
			err := h.seatAgain(ctx, s, m)
			if errors.Is(err, errUnseated) {
				h.keepOut(s, err)
				continue
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := h.depart(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// depart takes the seat of a member away that the spec has no more. Its name may
// come back, and finds its session and its mail again.
func (h staffing) depart(ctx context.Context, s *Seat) error {
	released, err := h.c.release(ctx, s.Member.Name, "the spec has no member of this name any more")
	if err != nil {
		return err
	}
	if err := h.c.asks.Leave(ctx, s.Member.Name); err != nil {
		return fmt.Errorf("the questions of %s: %w", s.Member.Name, err)
	}
	h.c.seats.put(slices.DeleteFunc(slices.Clone(h.c.seats.All()), func(o *Seat) bool { return o == s }))
	h.c.accounts.Tally.Forget(s.Member.Name)
	h.c.watch.Forget(s.Member.Name)
	h.c.hooks.Live.Tallies.Forget(s.Member.Name)
	h.c.logins.Forget(s.Member.Name, false)
	h.c.hooks.Background.Forget(s.Member.Name)
	h.c.notes.Forget(s.Member.Name)
	h.c.asks.Forget(s.Member.Name)
	h.c.work.Trees.Forget(s.Member.Name)
	if err := h.c.work.Trees.Retire(ctx); err != nil { // work that is nowhere else stays
		return fmt.Errorf("the working copy of %s: %w", s.Member.Name, err)
	}
	text := fmt.Sprintf("Teammate %s has left the team: the spec has it no more.", s.Member.Name)
	if len(released) > 0 {
		text += "\nOpen again: " + tasks.NamesOf(released)
	}
	h.c.loop.Poke()
	return (alarms{h.c}).tellLeadOf(ctx, s, text)
}

// seatLate seats a member that comes while the team runs.
func (h staffing) seatLate(ctx context.Context, m configs.Member) error {
	s, err := h.seatOne(ctx, m)
	if err != nil {
		h.c.work.Trees.Forget(m.Name)
		return err
	}
	h.c.seats.put(inFileOrder(append(slices.Clone(h.c.seats.All()), s), h.c.team().Members()))
	h.c.enter(ctx, s)
	return nil
}

// seatAgain gives a member another seat in place of its old one.
func (h staffing) seatAgain(ctx context.Context, old *Seat, m configs.Member) error {
	s, err := h.seatOne(ctx, m)
	if err != nil {
		return err
	}
	h.c.logins.Forget(m.Name, m.Agent.Name == old.Member.Agent.Name)
	h.c.hooks.Background.Forget(m.Name)
	h.c.notes.Forget(m.Name)
	h.c.watch.BeginAnew(m.Name)
	h.c.asks.Forget(m.Name)
	list := slices.Clone(h.c.seats.All())
	list[slices.Index(list, old)] = s
	h.c.seats.put(list)
	h.c.act(ctx, s, h.c.asks.Plans.BeginAnew(ctx, s.Member)) // after an error it stays in a mode that allows less
	h.c.enter(ctx, s)
	return nil
}

// errUnseated is why a member has no new seat; the team goes on without it.
var errUnseated = errors.New("it could not be started")

// keepOut leaves a member that cannot have a new seat in its old one, where it takes no more turns: its
// tasks and its mail are shown, and a better spec brings it back. In the crew's loop only.
func (h staffing) keepOut(s *Seat, why error) {
	h.c.journal.Append(agent.Event{Member: s.Member.Name, Data: agent.Warning{Text: why.Error()}})
	s.Life.KeepOut(why.Error())
	h.c.loop.Poke()
}

// seatOne makes a seat, whole or not at all: whoever goes through the seats may call upon the
// teammate of each. It fails with errUnseated if that is the member's own trouble.
func (h staffing) seatOne(ctx context.Context, m configs.Member) (*Seat, error) {
	s, err := h.newSeat(ctx, &m)
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", m.Name, err)
	}
	s.late = true
	if err := h.c.outfit(ctx, s); err != nil {
		h.c.vacate(s)
		return nil, fmt.Errorf("%w: %w", errUnseated, err)
	}
	return s, h.c.programs.RecallCost(ctx, m.Name)
}

// newSeat makes a seat for a member, with its session and no agent yet. A member that a hook
// has stopped for good gets one all the same, because its tasks, its mail and what it has
// cost are shown; it only gets no turns.
func (h staffing) newSeat(ctx context.Context, m *configs.Member) (*Seat, error) {
	session, err := h.c.store.Members().Attach(ctx, m.Name, uuid.NewString)
	if err != nil {
		return nil, err
	}
	s := &Seat{Member: &roster.Member{Member: m, Lead: m.Name == h.c.team().Lead.Name, Session: session}, crew: h.c}
	if session.State == stateHalted {
		s.Life.Retire(session.Reason)
	}
	return s, nil
}

// enter lets a member that has a seat begin.
func (c *Crew) enter(ctx context.Context, s *Seat) {
	gone := s.Life.State().Gone
	if gone == "" {
		c.group.Go(func() { c.serve(ctx, s) })
		return
	}
	c.begin(s)
	s.Life.KeepOut(gone)
	c.loop.Poke()
}

// inFileOrder brings seats into the order of the spec. Who is not in it any more
// comes last.
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

// ReleaseStrangers gives back the tasks of members that the spec no longer has.
// Nobody would ever be woken for them. A name that comes back into the spec later
// finds its session again, and its mail.
func (c *Crew) ReleaseStrangers(ctx context.Context) error {
	known, err := c.store.Members().List(ctx)
	if err != nil {
		return err
	}
	for _, m := range known {
		if _, ok := c.seats.Of(m.Name); ok {
			continue
		}
		if _, err := c.release(ctx, m.Name, "the spec has no member of this name any more"); err != nil {
			return fmt.Errorf("the tasks of %s, who is no member any more: %w", m.Name, err)
		}
	}
	return nil
}

// Restaff begins with what a change means for members. Those that are in a turn
// finish it; settle sees to them then.
//
// A member that cannot be seated is warned of and the others go on: the spec counts by then. The
// next covey up tries again.
func (c *Crew) Restaff(ctx context.Context, changes []api.MemberChange) {
	for _, m := range changes {
		s, seated := c.seats.Of(m.Name)
		switch {
		case m.Change == api.MemberRetires && seated:
			s.Life.Relieve(lives.ForGood)
		case m.Change == api.MemberRetires: // it never had a seat, or has left it
		case seated: // it changes, or it was retired and is still in its turn
			s.Life.Relieve(lives.Anew)
		default:
			member, _ := specs.Member(c.team(), m.Name)
			if err := (staffing{c}).seatLate(ctx, member); err != nil {
				c.journal.Append(agent.Event{Member: m.Name, Data: agent.Warning{
					Text: fmt.Sprintf("it has no place in the team yet; covey up tries again: %v", err),
				}})
			}
		}
	}
	c.loop.Poke()
}
