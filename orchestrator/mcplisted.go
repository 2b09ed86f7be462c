package orchestrator

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/teammate/agent"
)

// heedList notes that a client has asked which tools there are.
func (g *grant) heedList(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			g.listed.Store(true)
		}
		return next(ctx, method, r)
	}
}

// grantOf is the right to the team tools that a member's program has now; nil: none.
func (t *toolServer) grantOf(member string) *grant {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.grants[member]
}

// missTools warns when the member's program answers its first prompt without having
// asked for the team tools: its model has none of them. What programs do between the
// prompt and the first word counts, for some connect only then.
func (s *seat) missTools(e agent.EventData) {
	switch e.(type) {
	case agent.TextSaid, agent.ToolCalled:
	default:
		return
	}
	g := s.crew.tools.grantOf(s.member.Name)
	if g == nil || !g.unasked.Swap(false) { // one warning for each life of the program
		return
	}
	if !g.listed.Load() {
		s.crew.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: agent.Warning{
			Text: "the agent program has answered without having asked for the team's tools (tools/list), so its model had none of " +
				"them; it may connect to MCP servers too late, or not at all",
		}})
	}
}
