package orchestrator

import (
	"context"
	"errors"
	"io"

	"github.com/coveyteam/covey/teammate"
)

// A member that has nothing to do has no goroutine: its stack would be half of what an
// idle member costs, and most members of a large team are idle. Its Run returns with
// teammate.ErrResting, and whoever has something for it, be it work or the end, calls
// rouse, which begins another goroutine that goes on where the last one was.

// goOn runs a member until it rests or its life is over.
func (c *crew) goOn(ctx context.Context, s *seat) {
	for {
		err := s.mate.Run(ctx)
		if !errors.Is(err, teammate.ErrResting) {
			c.lived(ctx, s, err)
			return
		}
		if s.rests(ctx) {
			return
		}
	}
}

// take gives the member what the crew has for it: work, or why there will be none. It
// fails with teammate.ErrResting when there is neither.
func (s *seat) take(ctx context.Context) (teammate.Work, error) {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	w, err := s.offer(ctx)
	if err == nil {
		s.next = nil
	}
	return w, err
}

// offer is what take gives; crew.mu is held. What a member was given just before it is
// relieved is its own.
func (s *seat) offer(ctx context.Context) (teammate.Work, error) {
	switch {
	case ctx.Err() != nil:
		return teammate.Work{}, context.Cause(ctx)
	case s.leaving != "":
		return teammate.Work{}, io.EOF
	case s.next != nil:
		return *s.next, nil
	case s.home:
		return teammate.Work{}, io.EOF
	case s.relieved != staysSeated:
		return teammate.Work{}, s.relieved.lastWork()
	}
	return teammate.Work{}, teammate.ErrResting
}

// rests lays a member to rest, unless something has come for it since it looked: then it
// gives false, and the member goes on.
func (s *seat) rests(ctx context.Context) bool {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	_, err := s.offer(ctx)
	s.resting = errors.Is(err, teammate.ErrResting)
	return s.resting
}

// rouse has a member that rests look at what there is for it. One that does not rest
// will look by itself. crew.mu is held.
func (s *seat) rouse() {
	if s.resting {
		s.resting = false
		s.resume()
	}
}

// sendHome tells a member that there will be no more work: one that is in a turn
// finishes it.
func (c *crew) sendHome(s *seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.home = true
	s.rouse()
}

// untilLeft gives a channel that is closed when the member's life in its seat is over;
// crew.mu is held.
func (s *seat) untilLeft() <-chan struct{} {
	if s.left == nil {
		s.left = make(chan struct{})
		if s.out {
			close(s.left)
		}
	}
	return s.left
}

// parts notes that the member's life in its seat is over.
func (s *seat) parts() {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	s.out = true
	if s.left != nil {
		close(s.left)
	}
}
