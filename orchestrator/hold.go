package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks/actors"
)

// hold holds or resumes a member for the operator or the lead.
//
// It changes nothing if the hold is already as asked; Changed in the reply tells. An
// operator's hold replaces one of the lead, because the lead could otherwise resume a
// member that a person has stopped.
func (q commands) hold(ctx context.Context, r api.HoldRequest) (api.HoldReply, error) {
	s, ok := q.t.Seats.Of(r.Member)
	if !ok {
		return api.HoldReply{}, q.t.Board.NoSeat(r.Member)
	}
	by, lead := actors.Operator, q.t.Seats.Lead().Member.Name
	held, is := q.t.Holds.Of(r.Member)
	switch {
	case r.As == "":
	case r.As != lead:
		return api.HoldReply{}, texts.Errorf(api.ErrDenied, "only the operator and the lead hold members and resume them")
	case r.Member == lead:
		return api.HoldReply{}, texts.Errorf(api.ErrDenied, "the lead cannot hold or resume itself; end the turn instead")
	case r.Resume && is && held.By == actors.Operator:
		return api.HoldReply{}, texts.Errorf(api.ErrDenied,
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
		return reply, q.t.Holds.Resume(ctx, r.Member, by)
	case is && (held.By == actors.Operator || by != actors.Operator):
		return reply, nil
	}
	return reply, q.t.Holds.Hold(ctx, r.Member, by, false)
}
