package orchestrator

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// teamServer is what mcp_tool hooks call the tools of the team itself.
const teamServer = "covey"

// hookTools makes the calls of mcp_tool hooks: to the team tools, as the member
// whom the hook runs for, and to the servers that plugins bring.
type hookTools struct {
	c       *crew
	servers *hookServers
}

// CallTool implements runner.Tools.
func (h *hookTools) CallTool(ctx context.Context, call runner.ToolCall) (runner.ToolReply, error) {
	if call.Server != teamServer {
		return h.servers.call(ctx, call)
	}
	s, ok := h.c.bySession(call.For.SessionID)
	if !ok {
		return runner.ToolReply{}, fmt.Errorf("%w: the event belongs to no member of this team",
			runner.NotConnected(call.Server))
	}
	tool, err := h.teamTool(s, call.Tool)
	if err != nil {
		return runner.ToolReply{}, err
	}
	made := agent.ToolCall{ID: "hook_" + uuid.NewString(), Name: call.Tool, Input: call.Arguments}
	if denial := (permission.Policy{}).Permits(tool, &made, workspace.NewWorkdir("/"), hooks.Outcome{
		Decision: hooks.Pass,
	}); denial != "" { // a team tool asks nobody: the input is wrong
		return runner.ToolReply{Text: denial, IsError: true}, nil
	}
	result := contained(ctx, func(ctx context.Context) agent.ToolResult { return tool.Run(ctx, made) })
	if ctx.Err() != nil {
		return runner.ToolReply{}, ctx.Err()
	}
	return runner.ToolReply{Text: result.Content, IsError: result.IsError}, nil
}

// teamTool finds a team tool by the name that builtin agents have for it, or by
// that of agent programs.
func (h *hookTools) teamTool(s *seat, name string) (agent.Tool, error) {
	own, err := teamTools(h.c.board, s.actor, h.c.roster)
	if err != nil {
		return nil, err
	}
	foreign, err := s.foreignTools()
	if err != nil {
		return nil, err
	}
	for _, t := range foreign {
		own = append(own, t.Tool)
	}
	i := slices.IndexFunc(own, func(t agent.Tool) bool { return t.Spec().Name == name })
	if i < 0 {
		return nil, fmt.Errorf("MCP server '%s' has no tool %q", teamServer, name)
	}
	return own[i], nil
}
