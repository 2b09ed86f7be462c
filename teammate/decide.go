package teammate

import (
	"context"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/teammate/agent"
)

// CallDecision is what becomes of a tool call of a member.
type CallDecision struct {
	Denial string // what the model reads instead of a result; empty: the tool would run
	NoTool bool   // the member has no tool of that name
	Wrong  bool   // the input is not one of the tool, so nothing was decided
}

// Decide decides a tool call as in a turn of the member, hooks included, and does not run its tool. The
// journal gets the same lines, with the id of the call. It may be called only while Run does not run,
// and from one goroutine at a time. Its error says why the tools of the member cannot be made.
func (t *Teammate) Decide(ctx context.Context, call agent.ToolCall) (CallDecision, error) {
	if err := t.equip(); err != nil {
		return CallDecision{}, err
	}
	run := &agentRun{u: &turn{t: t, at: t.hookContext(t.turns, uuid.NewString())}}
	if t.opts.Program {
		return CallDecision{Denial: run.Permit(ctx, call).Reason}, ctx.Err()
	}
	g := run.guard(ctx, &call)
	return CallDecision{Denial: g.denial, NoTool: g.tool == nil, Wrong: g.wrong}, ctx.Err()
}
