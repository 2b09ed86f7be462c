package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/teammate/agent"
)

// Commands of members, such as covey tasks done in their shells, reach the covey of their host. If that
// does not lead the team, it passes them on.

// passedOn returns the handler of a command that a node passes on. own handles it where the team is.
func passedOn[Req, Rep any](q commands, verb string, own func(context.Context, Req) (Rep, error)) func(context.Context, Req) (Rep, error) {
	if q.t.hosted == nil {
		return own
	}
	return func(ctx context.Context, r Req) (reply Rep, err error) {
		g := q.t.guestOf(memberOf(r))
		if g == nil {
			return reply, fmt.Errorf("%w: this host only carries members of the team; ask the host that runs it", api.ErrDenied)
		}
		out := g.Tool(ctx, port.ToolCall{Tool: verb, Command: true, Call: agent.ToolCall{Input: texts.Encode(r)}}, verb == verbUpdate)
		if out.IsError {
			return reply, fmt.Errorf("%s", out.Content)
		}
		return reply, json.Unmarshal(out.Response, &reply)
	}
}

// memberOf returns the member that a request acts for; empty: it acts for nobody.
func memberOf(request any) string {
	switch r := request.(type) {
	case api.TaskCreate:
		return r.As
	case api.TaskUpdate:
		return r.As
	case api.TaskClaim:
		return r.As
	case api.Send:
		return r.As
	}
	return ""
}

// guestOf returns the life of a member of another host's team that is here; nil: there is none.
func (t *team) guestOf(member string) *port.Guest {
	s, ok := t.Seats.Of(member)
	if !ok {
		return nil
	}
	return s.Guest()
}

// The commands that are passed on.
const (
	verbCreate = "create"
	verbUpdate = "update"
	verbClaim  = "claim"
	verbSend   = "send"
)

// forMember carries out a command of a member of another host, whatever name and rights it claims.
func (q commands) forMember(ctx context.Context, member, verb string, in json.RawMessage) (json.RawMessage, error) {
	switch verb {
	case verbCreate:
		return carriedOut(ctx, in, func(ctx context.Context, r api.TaskCreate) (api.TaskReply, error) {
			r.As, r.Force = member, false
			return q.create(ctx, r)
		})
	case verbUpdate:
		return carriedOut(ctx, in, func(ctx context.Context, r api.TaskUpdate) (api.TaskReply, error) {
			r.As, r.Force = member, false
			return q.update(ctx, r)
		})
	case verbClaim:
		return carriedOut(ctx, in, func(ctx context.Context, r api.TaskClaim) (api.TaskReply, error) {
			r.As, r.Force = member, false
			return q.claim(ctx, r)
		})
	case verbSend:
		return carriedOut(ctx, in, func(ctx context.Context, r api.Send) (api.SendReply, error) {
			r.As, r.Now = member, false
			return q.send(ctx, r)
		})
	}
	return nil, fmt.Errorf("%w: members of other hosts have no command %q", api.ErrDenied, verb)
}

// carriedOut decodes a request and encodes the reply.
func carriedOut[Req, Rep any](ctx context.Context, in json.RawMessage, do func(context.Context, Req) (Rep, error)) (json.RawMessage, error) {
	var r Req
	if err := json.Unmarshal(in, &r); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	reply, err := do(ctx, r)
	if err != nil {
		return nil, err
	}
	return texts.Marshal(reply)
}
