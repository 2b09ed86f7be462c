package orchestrator

import (
	"context"
	"slices"

	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// programGear makes the agent of a member that is a program, and returns its team tools.
func (h *seatBuilder) programGear(ctx context.Context, s *crew.Seat, history transcript.History) (agent.Agent, []agent.Tool, error) {
	tools, err := programTools(s)
	if err != nil {
		return nil, nil, err
	}
	a, err := h.Programs.Open(ctx, launch.Request{
		Member: s.Member, History: history, Rules: s.Teammate().Rights().Now(),
		Environ: slices.Concat(h.copies.AuthorEnv(s.Member.Name), h.copies.Ports(s.Member.Name), h.sockets.Env(s.Member.Name)),
		System:  func() string { return h.systemPrompt(s.Member) },
		Said:    func() string { return h.State.Said(s.Member.Name) },
	})
	if err != nil {
		return nil, nil, err
	}
	s.OnClose(func() error { return h.Programs.Stopped(s.Member) })
	return a, tools, nil
}

// programTools returns the team tools under the names that the member's rules see when
// its program asks. Their calls come in over MCP; none runs through the member.
func programTools(s *crew.Seat) ([]agent.Tool, error) {
	list, err := s.TeamTools(teamtools.MCPNames)
	if err != nil {
		return nil, err
	}
	tools := make([]agent.Tool, len(list))
	for i, t := range list {
		tools[i] = namedTool{Tool: t, name: mcp.ToolName(t.Spec().Name)}
	}
	return tools, nil
}

// namedTool is a tool under another name.
type namedTool struct {
	agent.Tool
	name string
}

// Spec returns the tool's spec with the other name.
func (t namedTool) Spec() agent.Spec {
	spec := t.Tool.Spec()
	spec.Name = t.name
	return spec
}
