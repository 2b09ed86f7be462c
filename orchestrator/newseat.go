package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// vacate is the end of a member's life in its seat: all that it had open is closed,
// and the crew's loop sees to who sits there next.
func (c *crew) vacate(s *seat) {
	c.closeSeat(s)
	s.life.Vacate()
	c.loop.Poke()
}

// settle sees to seats that were given up: their members begin anew as the spec has
// them by now, or have left the team. In the crew's loop only.
func (h hiring) settle(ctx context.Context) error {
	for _, s := range h.c.seating.all() {
		if !s.life.Free() {
			continue
		}
		if m, stays := specs.Member(h.o.team(), s.member.Name); stays {
			err := h.seatAgain(ctx, s, m)
			if errors.Is(err, errUnseated) {
				h.c.keepOut(s, err)
				continue
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := h.c.depart(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// depart takes the seat of a member away that the spec has no more. Its name may
// come back, and finds its session and its mail again.
func (c *crew) depart(ctx context.Context, s *seat) error {
	released, err := c.release(ctx, s.member.Name, "the spec has no member of this name any more")
	if err != nil {
		return err
	}
	if err := c.asks.Leave(ctx, s.member.Name); err != nil {
		return fmt.Errorf("the questions of %s: %w", s.member.Name, err)
	}
	c.seating.put(slices.DeleteFunc(slices.Clone(c.seating.all()), func(o *seat) bool { return o == s }))
	c.accounts.tally.Forget(s.member.Name)
	c.watch.Forget(s.member.Name)
	c.hooks.live.Tallies.Forget(s.member.Name)
	c.logins.Forget(s.member.Name, false)
	c.hooks.background.Forget(s.member.Name)
	c.notes.Forget(s.member.Name)
	c.asks.Forget(s.member.Name)
	c.work.trees.Forget(s.member.Name)
	if err := c.work.trees.Retire(ctx); err != nil { // work that is nowhere else stays
		return fmt.Errorf("the working copy of %s: %w", s.member.Name, err)
	}
	text := fmt.Sprintf("Teammate %s has left the team: the spec has it no more.", s.member.Name)
	if len(released) > 0 {
		text += "\nOpen again: " + tasks.NamesOf(released)
	}
	c.loop.Poke()
	return (alarms{c}).tellLeadOf(ctx, s, text)
}

// seatLate seats a member that comes while the team runs.
func (h hiring) seatLate(ctx context.Context, m configs.Member) error {
	s, err := h.seatOne(ctx, m)
	if err != nil {
		h.c.work.trees.Forget(m.Name)
		return err
	}
	h.c.seating.put(inFileOrder(append(slices.Clone(h.c.seating.all()), s), h.o.memberNames()))
	h.c.enter(s)
	return nil
}

// seatAgain gives a member another seat in place of its old one.
func (h hiring) seatAgain(ctx context.Context, old *seat, m configs.Member) error {
	s, err := h.seatOne(ctx, m)
	if err != nil {
		return err
	}
	h.c.logins.Forget(m.Name, m.Agent.Name == old.member.Agent.Name)
	h.c.hooks.background.Forget(m.Name)
	h.c.notes.Forget(m.Name)
	h.c.watch.BeginAnew(m.Name)
	h.c.asks.Forget(m.Name)
	list := slices.Clone(h.c.seating.all())
	list[slices.Index(list, old)] = s
	h.c.seating.put(list)
	h.c.act(ctx, s, h.c.asks.Plans.BeginAnew(ctx, s.member)) // after an error it stays in a mode that allows less
	h.c.enter(s)
	return nil
}

// errUnseated is why a member has no new seat; the team goes on without it.
var errUnseated = errors.New("it could not be started")

// keepOut leaves a member that cannot have a new seat in its old one, where it takes no more turns: its
// tasks and its mail are shown, and a better spec brings it back. In the crew's loop only.
func (c *crew) keepOut(s *seat, why error) {
	c.journal.Append(agent.Event{Member: s.member.Name, Data: agent.Warning{Text: why.Error()}})
	s.life.KeepOut(why.Error())
	c.loop.Poke()
}

// seatOne makes a seat, whole or not at all: whoever goes through the seats may call upon the
// teammate of each. It fails with errUnseated if that is the member's own trouble.
func (h hiring) seatOne(ctx context.Context, m configs.Member) (*seat, error) {
	session, err := h.c.store.Members().Attach(ctx, m.Name, uuid.NewString)
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", m.Name, err)
	}
	s := newSeat(h.c, &m, m.Name == h.o.team().Lead.Name)
	s.member.Session, s.late = session, true
	if err := h.seatMember(ctx, s); err != nil {
		h.c.vacate(s)
		return nil, fmt.Errorf("%w: %w", errUnseated, err)
	}
	return s, h.c.programs.RecallCost(ctx, m.Name)
}

// newSeat makes a seat for a member.
func newSeat(c *crew, m *configs.Member, lead bool) *seat {
	return &seat{member: &roster.Member{Member: m, Lead: lead}, crew: c}
}

// enter lets a member that has a seat begin.
func (c *crew) enter(s *seat) {
	gone := s.life.State().Gone
	if gone == "" {
		c.let(s)
		return
	}
	c.begin(s)
	s.life.KeepOut(gone)
	c.loop.Poke()
}

// inFileOrder brings seats into the order of the spec. Who is not in it any more
// comes last.
func inFileOrder(seats []*seat, names []string) []*seat {
	rank := func(s *seat) int {
		if i := slices.Index(names, s.member.Name); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(seats, func(a, b *seat) int { return rank(a) - rank(b) })
	return seats
}
