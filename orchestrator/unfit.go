package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// openTranscript opens a member's transcript. One that is damaged is no reason for the
// others to stay away: its member gets an empty one in its place, so that it can be shown,
// and does not begin. What the damaged file tells of its work cannot be known, so nobody
// but a person can say whether the member may begin anew.
func (h hiring) openTranscript(s *seat) (*transcript.File, transcript.History, error) {
	path := h.o.place.Transcript(s.member.Name, s.member.Session.Session)
	file, history, err := transcript.Open(path)
	if !errors.Is(err, transcript.ErrDamaged) {
		return file, history, err
	}
	s.unfit = fmt.Sprintf("it cannot begin: %v; then run covey up again", err)
	instead := filepath.Join(h.o.place.Scratch(), s.member.Name+".no-transcript.jsonl")
	if err := os.Remove(instead); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, transcript.History{}, err
	}
	return transcript.Open(instead)
}

// fit reports whether a member can begin. One that cannot is gone from the team until the
// next covey up; it keeps its tasks, and the lead is told.
func (c *crew) fit(ctx context.Context, s *seat) bool {
	if s.unfit == "" {
		return true
	}
	c.keepAway(ctx, s, s.unfit)
	return false
}

// keepAway is for a member that does not begin in this run.
func (c *crew) keepAway(ctx context.Context, s *seat, reason string) {
	c.begin(s)
	if ctx.Err() != nil {
		return
	}
	c.journal.Append(agent.Event{Member: s.member.Name, Data: agent.NeedsAttention{Reason: reason}})
	c.act(ctx, s, (alarms{c}).tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s takes no turns: %s", s.member.Name, reason)))
	s.life.Retire(reason)
	c.loop.Poke()
}
