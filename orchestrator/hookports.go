package orchestrator

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/hookfiles"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
)

// hookInfos lists the hooks that the team has now, callbacks included, with what
// came of them in this run.
func hookInfos(o *Orchestrator, c *crew) ([]hooklist.Info, error) {
	infos, err := hooklist.List(o.team(), c.hooks.live.Sources(), nil)
	if err != nil {
		return nil, err
	}
	infos = append(infos, hooklist.Callbacks(o.opts.Hooks)...)
	hooklist.SetCounts(infos, c.hooks.live.Tallies.Of(append(o.memberNames(), hooklist.AtMerge)...))
	return infos, nil
}

// newBackground makes what knows the hooks that members have in the background.
func newBackground(c *crew) *hooking.Background {
	return hooking.NewBackground(c.store, c.clock, c.loop.Poke, func(member, text string) {
		e := agent.Event{Member: member, Data: agent.Warning{Text: text}}
		if s, ok := c.seating.of(member); ok {
			e.Turn = s.turn()
		}
		c.journal.Append(e)
	})
}

// newServers makes the MCP servers that plugins of a team bring.
func newServers(o *Orchestrator, c *crew, list []hookfiles.Server) *hooking.Servers {
	return hooking.NewServers(hooking.ServerOptions{
		Workspace: o.team().Workspace, Environ: launch.ChildEnvironment(o.opts.Bin, o.place),
		Started: func(pid int) func() { return c.processes.Register(pid, process.Owner{Kind: process.Hook}) },
		Fault:   func(err error) { c.log.Error("ending the servers of a plugin that is gone", "err", err) },
	}, list)
}

// newHookModels makes what answers prompt and agent hooks.
func newHookModels(o *Orchestrator, c *crew) *hooking.Models {
	return hooking.NewModels(hooking.ModelOptions{
		Spec: func() (*configs.Team, map[string]*script.Script) { return o.team(), o.scripts() },
		Member: func(session string) hooking.Member {
			if s, ok := c.seating.bySession(session); ok {
				return hookMember{o, s}
			}
			return hookMember{o, c.seating.lead()}
		},
		Lead:    func() *roster.Member { return c.seating.lead().member },
		Environ: launch.ChildEnvironment(o.opts.Bin, o.place), Scratch: o.place.Scratch(),
		Started: hooking.Registrar(c.processes),
	})
}

// newHookTools makes what carries out mcp_tool hooks.
func newHookTools(c *crew) *hooking.Tools {
	return &hooking.Tools{Servers: c.hooks.servers, TeamTools: func(session string) ([]agent.Tool, error) {
		s, ok := c.seating.bySession(session)
		if !ok {
			return nil, nil
		}
		own, err := s.teamTools(teamtools.BuiltinNames)
		if err != nil {
			return nil, err
		}
		foreign, err := s.teamTools(teamtools.MCPNames)
		return agentTools(append(own, foreign...)), err
	}}
}

// newPolicies makes the gates that ship with covey.
func newPolicies(o *Orchestrator, c *crew) *hooking.Policies {
	return hooking.NewPolicies(hooking.PolicyOptions{
		Store: c.store, Writes: c.work.writes, Approvals: c.asks.Approvals.By, Member: c.seating.member, SessionOf: c.seating.sessionOf,
		Lead:    func() *roster.Member { return c.seating.lead().member },
		Awaited: c.asks.Holds, OnPass: o.completesOnPass,
		Unreported: func(ctx context.Context, member string) []string {
			c.journal.CatchUp(ctx) // a report that was just sent counts
			return c.watch.Of(member).Unreported
		},
	})
}

// warnOfCrowd tells people that what a hook had left running became too many processes
// and was killed. The hook's own result was in the journal long before.
func (c *crew) warnOfCrowd(in hooks.Input, command, warning string) {
	e := agent.Event{Data: agent.Warning{Text: string(in.Payload.Event()) + " hook " + command + ": " + warning}}
	if s, ok := c.seating.bySession(in.SessionID); ok {
		e.Member, e.Turn = s.member.Name, s.turn()
	}
	c.journal.Append(e)
}

// hookMember is a seat as a hooking.Member.
type hookMember struct {
	o *Orchestrator
	s *seat
}

func (m hookMember) Spec() *roster.Member { return m.s.member }

func (m hookMember) Permissions() permission.Policy { return m.s.rules() }

func (m hookMember) Fire(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
	return m.s.mate.Fire(ctx, p)
}

func (m hookMember) Spent(asked hooking.ModelAsked) {
	c := m.s.crew
	c.accounts.tally.Spend(m.s.member.Name, asked.Usage)
	if err := m.s.mate.Spend(asked.Usage); err != nil {
		m.o.opts.Log.Warn("what a hook has used is not counted in the next run", "member", m.s.member.Name, "err", err)
	}
	c.journal.Append(agent.Event{Member: m.s.member.Name, Turn: m.s.turn(), Data: asked})
}

// ByHand makes what the hooks of a team ask while no team runs. It starts nothing.
// Programs that members need may be missing; what else is wrong with the team is an error,
// which wraps configs.ErrSpec.
func ByHand(team *configs.Team) (*hooking.Hand, error) {
	checked, _, wrong := check(team, nil)
	if wrong != nil {
		return nil, fmt.Errorf("%w:\n%w", configs.ErrSpec, wrong)
	}
	place, err := state.PlaceOf(team.Name, team.Workspace)
	if err != nil {
		return nil, err
	}
	permissions, err := permissionsOf(team.Lead, checked.hooks.Settings)
	if err != nil {
		return nil, err
	}
	return hooking.NewHand(hooking.HandOptions{
		Team: team, Scripts: checked.scripts, Servers: checked.hooks.Servers, Permissions: permissions,
		Environ: launch.ChildEnvironment("", place), Scratch: place.Scratch(),
	}), nil
}
