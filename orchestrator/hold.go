package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate/agent"
)

// hold holds or resumes a member for the operator or the lead.
func (q commands) hold(ctx context.Context, r api.HoldRequest) (api.HoldReply, error) {
	s, ok := q.r.seats.Of(r.Member)
	if !ok {
		return api.HoldReply{}, q.r.board.Known(r.Member)
	}
	by, lead := actors.Operator, q.r.seats.Lead().Member.Name
	held, is := q.r.holds.Of(r.Member)
	switch {
	case r.As == "":
	case r.As != lead:
		return api.HoldReply{}, notation.Errorf(api.ErrDenied, "only the operator and the lead hold members and resume them")
	case r.Member == lead:
		return api.HoldReply{}, notation.Errorf(api.ErrDenied, "the lead cannot hold or resume itself; end the turn instead")
	case r.Resume && is && held.By == actors.Operator:
		return api.HoldReply{}, notation.Errorf(api.ErrDenied,
			"the operator holds %s, and only the operator can resume it", r.Member)
	default:
		by = r.As
	}
	now := s.Life.State()
	if now.Gone != "" {
		return api.HoldReply{}, fmt.Errorf("%s takes no more turns: %s", r.Member, now.Gone)
	}
	reply := api.HoldReply{Member: r.Member, Held: !r.Resume, Changed: is == r.Resume, InTurn: !now.Idle}
	switch {
	case r.Resume:
		return reply, q.r.holds.Resume(ctx, r.Member, by)
	case is && (held.By == actors.Operator || by != actors.Operator):
		return reply, nil
	}
	return reply, q.r.holds.Hold(ctx, r.Member, by, false)
}

// HoldStopped holds or resumes a member of a team that does not run, for the operator.
// The next run heeds it. It fails with ErrRunning if the team runs after all.
func HoldStopped(ctx context.Context, p state.Place, r api.HoldRequest) (reply api.HoldReply, err error) {
	reply = api.HoldReply{Member: r.Member, Held: !r.Resume}
	if _, err := os.Stat(p.Store()); err != nil {
		return reply, fmt.Errorf("team %s has never run: %w", p.Team, err)
	}
	lock, err := state.LockTeam(p)
	if err != nil {
		return reply, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: storeBackups})
	if err != nil {
		return reply, fmt.Errorf("hold: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	h, err := lives.OpenHolds(ctx, store, routine.Clock{}, func(string, agent.EventData) {})
	if err != nil {
		return reply, err
	}
	_, is := h.Of(r.Member)
	reply.Changed = is == r.Resume
	if r.Resume {
		return reply, h.Resume(ctx, r.Member, actors.Operator)
	}
	return reply, h.Hold(ctx, r.Member, actors.Operator, false)
}

// HeldIn are the members of a team that are held, from its store, sorted by name.
func HeldIn(ctx context.Context, store *tasks.Store) ([]string, error) {
	h, err := lives.OpenHolds(ctx, store, routine.Clock{}, func(string, agent.EventData) {})
	if err != nil {
		return nil, err
	}
	return h.Members(), nil
}
