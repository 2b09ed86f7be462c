package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// programsOf makes what starts and ends the agent programs of a crew.
func programsOf(o *Orchestrator, c *crew) *launch.Programs {
	return launch.NewPrograms(launch.Options{
		Bin: o.opts.Bin, Place: o.place, Log: o.opts.Log, Store: c.store, Processes: c.processes, Ledger: c.accounts.ledger,
		Timeouts: o.patience, Backoff: o.backoff,
		Team: o.team, Found: o.programs, Scripts: o.scripts, Goal: c.goals.Text,
		Admit: c.tools.Admit, Revoke: c.tools.Revoke,
	})
}

// programGear makes the agent of a member that is a program, and tells which team
// tools it has.
func (h hiring) programGear(ctx context.Context, s *seat, history transcript.History) (agent.Agent, []agent.Tool, error) {
	tools, err := programTools(s)
	if err != nil {
		return nil, nil, err
	}
	c := s.crew
	a, err := c.programs.Open(ctx, launch.Request{
		Member: s.member, History: history, Rules: s.mate.Rights().Now(), Environ: c.work.trees.AuthorEnv(s.member.Name),
		System: func() string { return systemPrompt(h.o.team(), s) },
		Said:   func() string { return c.watch.Of(s.member.Name).LastText },
	})
	if err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, func() error { return c.programs.End(s.member) })
	return a, tools, nil
}

// programTools are the team tools under the names by which they come to the
// member's rules when its program asks. It runs none of them through its
// member: they come in over MCP.
func programTools(s *seat) ([]agent.Tool, error) {
	list, err := s.teamTools(teamtools.MCPNames)
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

// Spec is the tool's own but for the name.
func (t namedTool) Spec() agent.Spec {
	spec := t.Tool.Spec()
	spec.Name = t.name
	return spec
}
