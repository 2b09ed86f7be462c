package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/transcript"
)

// rotation is the handover between two sessions of a member.
//
// A member with `rotate: task` gets another session in another seat, as after a restart. Its steps
// are: write the brief into the old transcript, write the new transcript, and make the new session
// the member's in the store. After a kill before the last step the old session continues, and hands
// over with the same brief when it gets work. The work itself is not stored: it is mail, which stays
// unread until a transcript has it, or a task.
type rotation struct {
	due bool           // the next work is for a new session
	out *teammate.Work // for the member's next seat; nil: none
	in  *teammate.Work // from the member's last seat; nil: none
}

// dueForRotation reports whether the member has completed a task in its session and has none
// in progress. It is asked when the member becomes idle, because the next work may be a task
// that covey claims for it.
func (s *Seat) dueForRotation(ctx context.Context) bool {
	if s.Member.Rotate != configs.RotateAfterTask {
		return false
	}
	working, err := s.crew.deps.Store.InProgress(ctx, s.Member.Name)
	now, _, memberErr := s.crew.deps.Store.Members().Find(ctx, s.Member.Name)
	if err := errors.Join(err, memberErr); err != nil {
		s.crew.logError(ctx, s, fmt.Errorf("decide whether a new session begins: %w", err))
		return false
	}
	return len(working) == 0 && now.Finished
}

// Rotates implements teammate.Rotator. Background commands, and the continuation of a failed turn,
// belong to the session that began them.
func (s *Seat) Rotates(w teammate.Work) bool {
	return s.rotation.due && w.Cause != events.ByResume && !s.HasBackground() &&
		!s.crew.deps.Background.MayWake(s.Member.Name)
}

// Facts implements teammate.Rotator.
func (s *Seat) Facts(ctx context.Context) string {
	last := s.crew.deps.State.Said(s.Member.Name)
	if last == "" { // it has said nothing in this run
		past, err := transcript.Read(s.transcript(s.Member.Session.Session))
		s.crew.logError(ctx, s, err)
		last = launch.LastSaid(past)
	}
	return s.crew.deps.Programs.Brief(ctx, s.Member.Name, last)
}

// transcript returns the path of a session of the member.
func (s *Seat) transcript(session string) string {
	return s.crew.deps.Place.Transcript(s.Member.Name, session)
}

// Rotate implements teammate.Rotator.
func (s *Seat) Rotate(ctx context.Context, h transcript.Handover, w teammate.Work) error {
	// The new transcript must be complete before the store names its session. The other
	// order would leave, after a crash, a session without a brief.
	if err := transcript.Succeed(s.transcript(h.Next), s.transcript(s.Member.Session.Session), h); err != nil {
		return fmt.Errorf("begin a new session: %w", err)
	}
	if err := s.crew.deps.Store.Members().Renew(ctx, s.Member.Session, h.Next); err != nil {
		return fmt.Errorf("begin a new session: %w", err)
	}
	s.rotation.out = &w
	s.Life.Restart(0)
	return nil
}

// passOn gives a seat the work that its member's last one has handed over, and reports whether
// there was any. It goes on with the agent that the member had.
func (c *Crew) passOn(old, s *Seat) bool {
	w := old.rotation.out
	if w == nil {
		return false
	}
	old.rotation.out, s.rotation.in = nil, w
	c.switchAgent(s)
	return true
}

// inherit returns the work of the member's last seat, once.
func (s *Seat) inherit() (teammate.Work, bool) {
	w := s.rotation.in
	now := s.Life.State()
	if w == nil || cmp.Or(now.Halting, now.Leaving) != "" || now.Exit != members.Stays {
		return teammate.Work{}, false
	}
	s.rotation.in = nil
	return *w, true
}
