package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/hookinfo"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// hookInfos lists the team's current hooks, callbacks included, with their counts in this
// run.
func hookInfos(o *Orchestrator, r *rooms) ([]hookinfo.Info, error) {
	infos, err := hookinfo.List(o.team(), o.team().Workspace, r.hooks.live.Sources(), nil)
	if err != nil {
		return nil, err
	}
	infos = append(infos, hookinfo.Callbacks(o.opts.Hooks)...)
	r.state.Read(func(s *view.State) { hookinfo.SetCounts(infos, s.Hooks()) })
	return infos, nil
}

// newServers returns the MCP servers of a team's spec and plugins. Hooks that a server fires outside
// of a member's call are the lead's.
func newServers(o *Orchestrator, r *rooms, list []settings.Server) *mcp.Clients {
	return mcp.NewClients(mcp.ClientOptions{
		// A server serves all members, so it gets no member's environment.
		Workspace: o.team().Workspace, Environ: launch.ChildEnvironment(o.opts.Bin, o.place),
		Clock: o.opts.Overrides.Clock, Key: launch.ReadKey,
		Started: func(pid int) func() { return r.processes.Register(pid, process.Owner{Kind: process.Hook}) },
		Warn:    r.journal.Warn,
		Fire:    r.seats.Fire, Ask: r.asks.FillIn,
	}, list)
}

// newHookModels returns the models that answer prompt and agent hooks.
func newHookModels(o *Orchestrator, r *rooms) *teamhooks.Models {
	return teamhooks.NewModels(teamhooks.ModelOptions{
		Spec: func() (*configs.Team, map[string]*script.Script) { return o.team(), o.scripts() },
		Real: func(m configs.Model) (agent.Model, error) { return launch.NewModel(m, o.prices()) },
		Member: func(session string) teamhooks.Member {
			if s, ok := r.seats.BySession(session); ok {
				return hookMember(o, r, s)
			}
			return hookMember(o, r, r.seats.Lead())
		},
		Lead:    r.seats.LeadMember,
		Environ: launch.ChildEnvironment(o.opts.Bin, o.place), Scratch: o.place.Scratch(),
		Started: teamhooks.Registrar(r.processes),
	})
}

// newHookTools returns the tools for mcp_tool hooks.
func newHookTools(r *rooms) *teamhooks.Tools {
	return &teamhooks.Tools{Servers: r.servers, TeamTools: func(session string) ([]agent.Tool, error) {
		s, ok := r.seats.BySession(session)
		if !ok {
			return nil, nil
		}
		own, err := s.TeamTools(teamtools.BuiltinNames)
		if err != nil {
			return nil, err
		}
		foreign, err := s.TeamTools(teamtools.MCPNames)
		return agentTools(append(own, foreign...)), err
	}}
}

// newPolicies returns the gates that ship with covey.
func newPolicies(o *Orchestrator, r *rooms) *teamhooks.Policies {
	return teamhooks.NewPolicies(teamhooks.PolicyOptions{
		Store: r.store, State: r.state, Members: &r.seats, Inbox: r.asks, Copies: r.work.Trees, Writes: r.work.Writes, Merges: r.work.Merges,
		Approvals: inbox.NewApprovals(r.asks, r.work.Merges, o.completesOnPass), OnPass: o.completesOnPass,
	})
}

// warnOfTooMany warns people that the processes that a hook had left behind became too many
// and were killed. The hook's own result was journaled before.
func (r *rooms) warnOfTooMany(in hooks.Input, command, warning string) {
	e := events.Event{Data: events.Warning{Text: string(in.Payload.Event()) + " hook " + command + ": " + warning}}
	if s, ok := r.seats.BySession(in.SessionID); ok {
		e.Member, e.Turn = s.Member.Name, s.Turn()
	}
	r.journal.Append(e)
}

// hookMember returns what hooks use of the member in a seat.
func hookMember(o *Orchestrator, r *rooms, s *crew.Seat) teamhooks.Member {
	return teamhooks.Member{
		Spec: s.Member, Permissions: s.Permissions,
		Fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) { return s.Teammate().Fire(ctx, p) },
		Spent: func(asked events.ModelAsked) {
			name := s.Member.Name
			// The use counts in this run in any case. Only the line in the transcript is
			// missing, by which the next run would count it again.
			if err := s.Teammate().Spend(asked.Usage); err != nil {
				o.opts.Log.Warn("the use of a hook will not count in the next run", "member", name, "err", err)
			}
			r.journal.Append(events.Event{Member: name, Turn: s.Turn(), Data: asked})
		},
	}
}

// ByHand returns what the hooks of a team need while no team runs. It starts nothing.
// Programs of members may be missing; anything else wrong with the team is an error,
// which wraps configs.ErrSpec.
func ByHand(team *configs.Team) (*teamhooks.Hand, error) {
	checked, _, wrong := check(team, nil)
	if wrong != nil {
		return nil, fmt.Errorf("%w:\n%w", configs.ErrSpec, wrong)
	}
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return nil, err
	}
	permissions, err := permissionsOf(team.Lead, checked.hooks.Settings, team.File)
	if err != nil {
		return nil, err
	}
	return teamhooks.NewHand(teamhooks.HandOptions{
		Team: team, Scripts: checked.scripts, Servers: checked.hooks.Servers, Permissions: permissions,
		Environ: launch.ChildEnvironment("", place), Scratch: place.Scratch(),
	}), nil
}
