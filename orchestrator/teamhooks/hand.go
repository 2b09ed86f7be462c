package teamhooks

import (
	"context"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
)

// HandDeps are a Hand's dependencies.
type HandDeps struct {
	Team        *configs.Team
	Scripts     map[string]*script.Script // of the team's models, by path
	Servers     []settings.Server
	Permissions permission.Policy // the lead's
	Environ     []string
	Scratch     string
}

// Hand provides models and the plugins' MCP servers for events that are fired by hand while no
// team runs. Agent hooks have the lead's permissions, and their calls run no hooks. The caller
// must close it.
type Hand struct {
	models *Models
	tools  *Tools
}

// NewHand makes a Hand. It starts nothing.
func NewHand(o HandDeps) *Hand {
	lead := Member{
		Spec:        &members.Member{Member: &o.Team.Lead, Lead: true},
		Permissions: func() permission.Policy { return o.Permissions },
		Fire: func(context.Context, hooks.Payload) (hooks.Outcome, error) {
			return hooks.Outcome{Decision: hooks.Pass}, nil
		},
		Spent: func(events.ModelAsked) {},
	}
	// No team runs, so nobody asks whose the processes are; they are registered because the
	// parts want it.
	processes := process.New(process.Unmarked)
	return &Hand{
		models: NewModels(ModelDeps{
			Spec:    func() (*configs.Team, map[string]*script.Script) { return o.Team, o.Scripts },
			Member:  func(string) Member { return lead },
			Lead:    func() *members.Member { return lead.Spec },
			Environ: o.Environ, Scratch: o.Scratch, Started: Registrar(processes),
		}),
		tools: &Tools{
			Servers: mcp.NewClients(mcp.ClientDeps{
				Workspace: o.Team.Workspace, Environ: o.Environ,
				Started: func(pid int) func() { return processes.Register(pid, process.Owner{Kind: process.Hook}) },
				Key:     launch.ReadKey,
				Warn:    func(string, ...any) {}, // a hook says itself that its server failed
				Fire: func(context.Context, string, hooks.Payload) (hooks.Outcome, error) {
					return hooks.Outcome{Decision: hooks.Pass}, nil
				},
			}, o.Servers),
			TeamTools: func(string) ([]agent.Tool, error) { return nil, nil },
		},
	}
}

// Models returns the model for prompt and agent hooks.
func (h *Hand) Models() runner.Model { return h.models }

// Tools returns the tools for mcp_tool hooks. It has no team tools, which need a team.
func (h *Hand) Tools() runner.Tools { return h.tools }

// Close ends the servers that were started.
func (h *Hand) Close() { h.tools.Servers.Close() }

// Registrar returns a function for ModelDeps.Started that registers the processes of agent
// hooks.
func Registrar(all *process.Processes) func(pid int, member string) (ended func()) {
	return func(pid int, member string) func() {
		return all.Register(pid, process.Owner{Kind: process.Hook, Member: member})
	}
}
