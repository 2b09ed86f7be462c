package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/tasks"
)

// This file has the seats of members whose team is on another host, and what happens when such a host is
// gone.

// SeatGuest makes the seat of a member of a team that another host leads. The caller runs the member and
// calls EndGuest. Calls must not overlap.
func (c *Crew) SeatGuest(ctx context.Context, g *port.Guest) (*Seat, error) {
	m, ok := specs.Member(c.deps.Team(), g.Member)
	if !ok {
		return nil, fmt.Errorf("the spec of this host has no member %s", g.Member)
	}
	session, err := c.deps.Store.Members().Attach(ctx, g.Member, func() string { return g.Order().Session })
	if err == nil && session.Session != g.Order().Session {
		err = c.deps.Store.Members().Renew(ctx, session, g.Order().Session)
		session.Session = g.Order().Session
	}
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", g.Member, err)
	}
	s, err := c.newSeatOf(ctx, &m, session, g)
	if err != nil {
		return nil, err
	}
	old, again := c.deps.Seats.Of(g.Member)
	list := slices.Clone(c.deps.Seats.All())
	if again {
		list[slices.Index(list, old)] = s
	} else {
		list = append(list, s)
	}
	c.deps.Seats.put(list)
	if again {
		err = tell(c, func(p Rejoiner) error { return p.Rejoined(ctx, s.Member, members.Return{SameAgent: true}) })
	} else {
		err = tell(c, func(p Joiner) error { return p.Joined(ctx, s.Member) })
	}
	if err = errors.Join(err, tell(c, func(p Preparer) error { return p.Ready(ctx, s.Member) })); err != nil {
		c.EndGuest(ctx, s)
		return nil, err
	}
	return s, nil
}

// EndGuest cleans up after a guest whose life has ended.
func (c *Crew) EndGuest(ctx context.Context, s *Seat) {
	c.logError(ctx, s, tell(c, func(p Stopper) error { return p.Stopped(s.Member) }))
	for _, set := range s.sets() {
		set.EndRuns()
	}
	s.Close(c.deps.Log)
	c.deps.Processes.KillOf(s.Member.Name)
}

// Guest returns the life that a member of another host's team has here; nil: the team is here.
func (s *Seat) Guest() *port.Guest { return s.guest }

// asMoved returns why a member's life on another host has ended, if its host is gone.
func asMoved(err error) *port.MovedError {
	moved, _ := errors.AsType[*port.MovedError](err)
	return moved
}

// moved lets a member whose host is gone go on in another life. Its tasks become open if nobody knows
// whether somebody still works on them.
func (c *Crew) moved(ctx context.Context, s *Seat, why *port.MovedError) {
	s.journal(events.Warning{Text: s.Member.Name + " goes on elsewhere: " + why.Error()})
	if why.Lost {
		released, err := c.release(ctx, s.Member.Name, why.Error())
		if len(released) > 0 {
			err = errors.Join(err, c.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s was interrupted, because %s.\nOpen again: %s",
				s.Member.Name, why, tasks.NamesOf(released))))
		}
		c.logError(ctx, s, err)
	}
	s.Life.Restart(0)
	c.vacateRested(ctx, s)
}
