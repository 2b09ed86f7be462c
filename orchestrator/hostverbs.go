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

// Commands of members, such as covey tasks in their shells, reach the covey of their host. If that does not
// lead the team, it passes them on.

// passedCommands are the commands that a node passes on, by their verbs. They carry out requests of a member
// of another host, with no more rights than a process of a member here has.
type passedCommands map[string]func(ctx context.Context, member string, in json.RawMessage) (json.RawMessage, error)

// forMember carries out a command of a member of another host.
func (p passedCommands) forMember(ctx context.Context, member, verb string, in json.RawMessage) (json.RawMessage, error) {
	if do := p[verb]; do != nil {
		return do(ctx, member, in)
	}
	return nil, fmt.Errorf("%w: members of other hosts have no command %q", api.ErrDenied, verb)
}

// passedOn returns the handler of a command that a node passes on. own handles it where the team is. gated is set
// for one that judges the member's work.
func passedOn[Req, Rep any](q commands, verb api.Verb[Req, Rep], gated bool, own func(context.Context, Req) (Rep, error)) api.Handler {
	if q.t.hosted == nil {
		q.t.passed[verb.Name()] = func(ctx context.Context, member string, in json.RawMessage) (json.RawMessage, error) {
			var r Req
			if err := json.Unmarshal(in, &r); err != nil {
				return nil, fmt.Errorf("the request cannot be read: %w", err)
			}
			r, err := verb.OfMember(member, r)
			if err != nil {
				return nil, err
			}
			reply, err := own(ctx, r)
			if err != nil {
				return nil, err
			}
			return texts.Marshal(reply)
		}
		return verb.Handle(own)
	}
	return verb.HandleFor(func(ctx context.Context, member string, r Req) (reply Rep, err error) {
		s, ok := q.t.Seats.Of(member)
		if !ok || s.Guest() == nil {
			return reply, fmt.Errorf("%w: this host only carries members of the team; ask the host that runs it", api.ErrDenied)
		}
		out := s.Guest().Tool(ctx, port.ToolCall{Tool: verb.Name(), Command: true, Call: agent.ToolCall{Input: texts.Encode(r)}}, gated)
		if out.IsError {
			return reply, fmt.Errorf("%s", out.Content)
		}
		return reply, json.Unmarshal(out.Response, &reply)
	})
}
