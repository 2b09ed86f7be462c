package hooking

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

// teamServer is the server name of the team tools in mcp_tool hooks.
const teamServer = "covey"

// Tools makes the calls of mcp_tool hooks: to the team tools, as the member for which the hook
// runs, and to the servers of plugins.
type Tools struct {
	Servers *Servers
	// TeamTools returns the team tools of the member of a session, or none if no member has it.
	TeamTools func(session string) ([]agent.Tool, error)
}

// CallTool implements runner.Tools.
func (t *Tools) CallTool(ctx context.Context, call runner.ToolCall) (runner.ToolReply, error) {
	if call.Server != teamServer {
		return t.Servers.CallTool(ctx, call)
	}
	list, err := t.TeamTools(call.For.SessionID)
	switch {
	case err != nil:
		return runner.ToolReply{}, err
	case len(list) == 0:
		return runner.ToolReply{}, fmt.Errorf("%w: the event belongs to no member of this team",
			runner.NotConnected(call.Server))
	}
	i := slices.IndexFunc(list, func(tool agent.Tool) bool { return tool.Spec().Name == call.Tool })
	if i < 0 {
		return runner.ToolReply{}, fmt.Errorf("MCP server '%s' has no tool %q", teamServer, call.Tool)
	}
	made := agent.ToolCall{ID: "hook_" + uuid.NewString(), Name: call.Tool, Input: call.Arguments}
	if denial := (permission.Policy{}).Permits(list[i], &made, workspace.NewWorkdir("/"), hooks.Outcome{
		Decision: hooks.Pass,
	}); denial != "" { // team tools need no permission, so the input is wrong
		return runner.ToolReply{Text: denial, IsError: true}, nil
	}
	result := agent.Contained(ctx, func(ctx context.Context) agent.ToolResult { return list[i].Run(ctx, made) })
	if ctx.Err() != nil {
		return runner.ToolReply{}, ctx.Err()
	}
	return runner.ToolReply{Text: result.Content, IsError: result.IsError}, nil
}
