package teammate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// batched records a call that was made. After the last call of the model's message
// it fires PostToolBatch; the output of those hooks goes below that call's result.
func (run *agentRun) batched(ctx context.Context, call agent.ToolCall, r agent.ToolResult) []agent.Input {
	response, err := texts.Marshal(batchResponse(call.Name, r.Content))
	// A batch that is cut off fires nothing: its hooks would see only a part of the calls.
	if err != nil || ctx.Err() != nil || run.deferred != "" {
		run.batch = nil
		return nil
	}
	run.batch = append(run.batch, hooks.BatchCall{
		ToolName: call.Name, ToolInput: agent.ValidInput(call.Input), ToolUseID: call.ID, ToolResponse: response,
	})
	for _, open := range run.u.t.calls.List {
		made := func(c hooks.BatchCall) bool { return c.ToolUseID == open.ID }
		if !slices.ContainsFunc(run.batch, made) {
			return nil
		}
	}
	return run.endBatch(ctx)
}

// batchResponse returns a tool's result as PostToolBatch has it: a text, or a list of
// blocks for Agent and MCP tools (golden, team_basic and elicitation).
func batchResponse(tool, content string) any {
	if tool != "Agent" && !strings.HasPrefix(tool, "mcp__") {
		return content
	}
	return []map[string]string{{"type": "text", "text": content}}
}

// endBatch fires PostToolBatch for the calls recorded since the last batch. Both a
// refusal and a halt end the turn before the next model request; the model reads the
// reason in its next turn (golden, postbatch_block).
func (run *agentRun) endBatch(ctx context.Context) []agent.Input {
	calls := run.batch
	run.batch = nil
	if len(calls) == 0 || ctx.Err() != nil {
		return nil
	}
	out, ok := run.u.at.try(ctx, hooks.PostToolBatchInput{ToolCalls: calls})
	if !ok {
		return nil
	}
	run.u.at.reportFeedback(out)
	if out.Decision == hooks.Block {
		out.StopReason = cmp.Or(out.StopReason, out.Refusal())
		run.u.at.halt(hooks.PostToolBatch, out)
	}
	return hookInputs(out)
}
