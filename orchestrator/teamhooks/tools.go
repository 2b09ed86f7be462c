package teamhooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// teamServer is the server name of the team tools in mcp_tool hooks.
const teamServer = "covey"

// Tools makes the calls of mcp_tool hooks: to the team tools, as the member for which the hook
// runs, and to the servers of plugins.
type Tools struct {
	Servers *mcp.Clients
	// TeamTools returns the team tools of the member of a session, or none if no member has it.
	TeamTools func(session string) ([]agent.Tool, error)
}

// CallTool implements runner.Tools.
func (t *Tools) CallTool(ctx context.Context, call runner.ToolCall) (runner.ToolReply, error) {
	if call.Server != teamServer {
		result, err := t.Servers.CallTool(ctx, call.Server, call.Tool, call.Arguments)
		if err != nil {
			return runner.ToolReply{}, err
		}
		return replyOf(result), nil
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
	// The id is new with each call, so the receipt of another call is never taken for its
	// own.
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

// maxToolText is how many bytes of a result a hook gets.
const maxToolText = 1 << 20

// replyOf returns the part of a result that a hook can use.
func replyOf(result *sdk.CallToolResult) runner.ToolReply {
	reply := runner.ToolReply{IsError: result.IsError}
	var texts []string
	room := maxToolText
	for _, content := range result.Content {
		text, ok := content.(*sdk.TextContent)
		if !ok {
			reply.Other = true
			continue
		}
		cut := text.Text[:min(len(text.Text), room)]
		room -= len(cut)
		texts = append(texts, cut)
	}
	reply.Text = strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD")
	return reply
}
