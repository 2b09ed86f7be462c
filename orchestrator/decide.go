package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// MadeCall is a tool call and the member that makes it.
type MadeCall struct {
	Member string
	Call   agent.ToolCall // its id names the call in the journal
}

// Decide decides calls as if the members made them in this order, and runs none of them: their hooks
// run, and rules, modes and what members may write decide. Nobody can be asked. No session begins.
// There is one decision for each call. Its other errors are Run's.
func (o *Orchestrator) Decide(ctx context.Context, calls []MadeCall) ([]teammate.CallDecision, error) {
	var decisions []teammate.CallDecision
	ending, err := o.run(ctx, crew.Purpose{Decide: func(ctx context.Context, seats *crew.Seats) error {
		for _, c := range calls {
			s, ok := seats.Of(c.Member)
			if !ok {
				return fmt.Errorf("%s: %w", c.Member, api.ErrNoMember)
			}
			d, err := s.Teammate().Decide(ctx, c.Call)
			if err != nil {
				return err
			}
			decisions = append(decisions, d)
		}
		return nil
	}})
	if err == nil && len(decisions) < len(calls) {
		err = errors.New("the calls are not decided: " + ending.Reason)
	}
	return decisions, err
}

// noAgent is the agent of a member that takes no turn.
type noAgent struct{}

// Run fails, because there is no turn.
func (noAgent) Run(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
	return agent.Reply{}, errors.New("this member takes no turn")
}

// toolsToDecide returns the tools that a member's calls are decided by.
func (h *seatBuilder) toolsToDecide(ctx context.Context, s *crew.Seat, workdir *workspace.Workdir) ([]agent.Tool, error) {
	switch s.Member.CurrentAgent().Kind {
	case configs.ACP, configs.Command:
		return programTools(s)
	}
	return h.agentTools(s, h.workspaceTools(ctx, s, workdir))
}

// decides changes the options of a member whose calls are only decided: nobody is asked, and a tool that
// it may have of an MCP server needs no server.
func decides(o *teammate.Options, m *members.Member) {
	awaited := ""
	o.Asker = nil
	o.Await = func(_ context.Context, name string) error {
		awaited = name
		return nil
	}
	o.Others = func(context.Context) []agent.Tool {
		if !strings.HasPrefix(awaited, mcpPrefix) || !members.MayUse(m.Tools, awaited) {
			return nil
		}
		return []agent.Tool{serverTool{awaited}}
	}
}

// serverTool stands for a tool of an MCP server, which is not asked what it has while calls are decided.
type serverTool struct{ name string }

// Spec returns what the name of the tool implies.
func (t serverTool) Spec() agent.Spec {
	server, _, _ := strings.Cut(strings.TrimPrefix(t.name, mcpPrefix), "__")
	return agent.Spec{Name: t.name, Server: server}
}

// Run fails, because no call is run.
func (t serverTool) Run(context.Context, agent.ToolCall) agent.ToolResult {
	return agent.Failed("%s was not run", t.name)
}

// mcpPrefix begins the names of the tools of MCP servers.
const mcpPrefix = "mcp__"
