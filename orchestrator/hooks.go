package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
)

// hookInfos lists the team's current hooks, callbacks included, with their counts in this
// run.
func (t *team) hookInfos(context.Context) ([]api.Hook, error) {
	infos, err := teamhooks.List(t.o.team(), t.o.team().Workspace, t.hooks.Sources(), nil)
	if err != nil {
		return nil, err
	}
	infos = append(infos, teamhooks.Callbacks(t.o.opts.Hooks)...)
	t.State.Read(func(s *view.State) { api.SetHookCounts(infos, s.Hooks()) })
	return infos, nil
}

// withPolicies adds the policies that hold although no spec names them, and to what holds for a
// template that it holds for each of its members.
func withPolicies(team *configs.Team, sources []settings.Source) []settings.Source {
	all := writes.WithPolicy(team, sources)
	for m := range team.Each() {
		for _, s := range sources {
			if m.Template != "" && s.Member == m.Template {
				s.Member = m.Name
				all = append(slices.Clip(all), s)
			}
		}
	}
	if !workcopies.MadeByHook(sources) {
		return all
	}
	group := []hooks.Group{{Hooks: []hooks.Handler{{Policy: inbox.TakenPolicy, Gate: true}}}}
	return append(slices.Clone(all), settings.Source{Name: "worktree", Settings: hooks.Settings{hooks.TaskCompleted: group}})
}

// hookRunner returns the runner of all members' hooks. The session in the input of a hook
// determines its member.
//
// All functions in the options are called while members work, from the goroutines of their
// hooks. They look members up each time, because seats are replaced. A session without a
// seat belongs to no member; its hook is told the team alone.
func (h *seatBuilder) hookRunner() (*runner.Runner, error) {
	if err := teamhooks.PreparePlugins(h.o.place.Home(), h.o.hooks().Sources); err != nil {
		return nil, err
	}
	return runner.New(withPolicies(h.o.team(), h.o.hooks().Sources), &runner.Options{
		Env:        h.environ,
		ProjectDir: h.o.team().Workspace,
		SpillDir:   h.o.place.Scratch(),
		Gates:      h.Merges.GateRun,
		Policies:   h.policyNamed,
		Callbacks:  h.hooks.Functions,
		Models:     h.hookModels(),
		Tools:      h.hookTools(),
		FailClosed: h.o.team().FailClosed, Interactive: h.o.staysUp(),
		Locate: h.locate,
		Session: func(in hooks.Input) runner.Session {
			s, ok := h.Seats.BySession(in.SessionID)
			if !ok {
				return runner.Session{Team: h.o.team().Name, Loaded: (*tools.Skills)(nil).Loaded}
			}
			return runner.Session{
				Team: h.o.team().Name, Member: s.Member.Name, Root: s.Member.Dir, EnvFile: h.envFile(s), Loaded: s.Skills().Loaded,
				Env: func() []string { return h.sockets.Env(s.Member.Name) },
			}
		},
		GateEnv: h.gateEnv,
		GateSlot: func(ctx context.Context, in hooks.Input) (func(), error) {
			member := ""
			if s, ok := h.Seats.BySession(in.SessionID); ok {
				member = s.Member.Name
				if mate := s.Teammate(); mate != nil {
					defer mate.PauseTimeout()()
				}
			}
			return h.slots.Acquire(ctx, member)
		},
		Spawned: func(pid int, p runner.Spawn) func() {
			owner := process.Owner{Kind: process.Hook, Member: p.Member}
			if p.Hook.MayAct {
				owner.Kind = process.ActingHook
			}
			return h.Processes.RegisterHook(pid, owner, teamhooks.RunOf(p.Input, p.Depth))
		},
		Box: func(in hooks.Input, hook hooks.Handler, dir string) (*sandbox.Box, []string, error) {
			member := ""
			if s, ok := h.Seats.BySession(in.SessionID); ok {
				member = s.Member.Name
			}
			return boxOf(h.boxes, member)(in, hook, dir)
		},
		OnTooManyProcesses: h.warnOfTooMany,
	})
}

// policyNamed returns a policy. A node has neither the tasks nor the inbox of the team, so that it asks the
// coordinator for the verdicts of gates that need them.
func (h *seatBuilder) policyNamed(name string) runner.Policy {
	p := h.policies.Named(name)
	if h.hosted == nil || p == nil || name == writes.CommittedPolicy || name == writes.FilesPolicy {
		return p
	}
	return func(ctx context.Context, in hooks.Input) hooks.Result {
		if s, ok := h.Seats.BySession(in.SessionID); ok && s.Guest() != nil {
			return s.Guest().Policy(name)(ctx, in)
		}
		return p(ctx, in)
	}
}

// locate implements runner.Options.Locate: for a member in its own working copy, and one that
// has changed its folder, scripts that hooks name are those of the workspace, because nobody
// has trusted other files of that name.
func (h *seatBuilder) locate(in hooks.Input, hook hooks.Handler) (string, []string) {
	if s, ok := h.Seats.BySession(in.SessionID); ok {
		if _, own := h.copies.Of(s.Member.Name); own || in.Cwd != s.Member.Dir {
			return h.o.team().Located(hook)
		}
	}
	return hook.Command, hook.Args
}

// gateEnv returns the variables of gates: those of their tools, and the ports of the member's copy.
func (h *seatBuilder) gateEnv(in hooks.Input) ([]string, error) {
	env, err := h.settings.Environ()
	if s, ok := h.Seats.BySession(in.SessionID); ok {
		env = slices.Concat(env, h.copies.Ports(s.Member.Name))
	}
	return env, err
}

// hookModels returns the models that answer prompt and agent hooks.
func (h *seatBuilder) hookModels() *teamhooks.Models {
	return teamhooks.NewModels(teamhooks.ModelDeps{
		Spec: func() (*configs.Team, map[string]*script.Script) { return h.o.team(), h.o.scripts() },
		Real: func(member string, m configs.Model) (agent.Model, error) {
			lane, err := h.laneOf(member)
			if err != nil {
				return nil, err
			}
			who, _ := h.Seats.Member(member) // laneOf has found it
			return launch.NewModel(m, h.o.prices(), lane, h.Programs.GateOf(who, m))
		},
		Tap: func(member string, m agent.Model) agent.Model {
			lane, err := h.laneOf(member)
			if err != nil {
				return failing{err}
			}
			return lane.Model(m)
		},
		Member: func(session string) teamhooks.Member {
			if s, ok := h.Seats.BySession(session); ok {
				return h.hookMember(s)
			}
			return h.hookMember(h.Seats.Lead())
		},
		Lead:    h.Seats.LeadMember,
		Environ: h.environ, Scratch: h.o.place.Scratch(),
		Started: teamhooks.Registrar(h.Processes),
	})
}

// hookTools returns the tools for mcp_tool hooks.
func (h *seatBuilder) hookTools() *teamhooks.Tools {
	return &teamhooks.Tools{Servers: h.servers, TeamTools: func(session string) ([]agent.Tool, error) {
		s, ok := h.Seats.BySession(session)
		if !ok {
			return nil, nil
		}
		own, err := s.TeamTools(teamtools.BuiltinNames)
		if err != nil {
			return nil, err
		}
		foreign, err := s.TeamTools(teamtools.MCPNames)
		return asAgentTools(append(own, foreign...)), err
	}}
}

// warnOfTooMany warns people that the processes that a hook had left behind became too many
// and were killed. The hook's own result was journaled before.
func (h *seatBuilder) warnOfTooMany(in hooks.Input, command, warning string) {
	e := events.Event{Data: events.Warning{Text: string(in.Payload.Event()) + " hook " + command + ": " + warning}}
	if s, ok := h.Seats.BySession(in.SessionID); ok {
		e.Member, e.Turn = s.Member.Name, s.Turn()
	}
	h.Journal.Append(e)
}

// hookMember returns what hooks use of the member in a seat.
func (h *seatBuilder) hookMember(s *crew.Seat) teamhooks.Member {
	return teamhooks.Member{
		Spec: s.Member, Permissions: s.Permissions,
		Fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) { return s.Mate().Fire(ctx, p) },
		Spent: func(asked events.ModelAsked) {
			name := s.Member.Name
			// The use counts in this run in any case. Only the line in the transcript is
			// missing, by which the next run would count it again. Without a teammate its
			// host has the transcript.
			if mate := s.Teammate(); mate == nil {
				purse := h.Ledger.Purse(name)
				purse.Spend(asked.Usage, purse.Price(asked.Usage, asked.Model))
			} else if err := mate.Spend(asked.Usage); err != nil {
				h.Log.Warn("the use of a hook will not count in the next run", "member", name, "err", err)
			}
			h.Journal.Append(events.Event{Member: name, Turn: s.Turn(), Data: asked})
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
	return teamhooks.NewHand(teamhooks.HandDeps{
		Team: team, Scripts: checked.scripts, Servers: checked.hooks.Servers, Permissions: permissions,
		Environ: launch.ChildEnvironment("", place), Scratch: place.Scratch(),
	}), nil
}

// applyHooks puts the layers of a spec into effect for the whole team: hooks from the
// next event on, rules from the next decision on. Either all members get the new rules or
// none.
func (h *seatBuilder) applyHooks(team *configs.Team, l teamhooks.Layers) error {
	if err := launch.CheckDemands(team, l.Sources, launch.LookPath); err != nil {
		return err
	}
	if err := teamhooks.PreparePlugins(h.o.place.Home(), l.Sources); err != nil {
		return err
	}
	// All policies are made before the first is used, because a rule that cannot be read
	// must leave every member as it is.
	seats := h.Seats.All()
	next := make([]permission.Policy, len(seats))
	var errs []error
	for i, s := range seats {
		var err error
		next[i], err = h.o.policyOf(s.Member, l.Settings, team)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	h.servers.Replace(l.Servers) // first, because the new hooks may call them at once
	h.hooks.Renew(l, withPolicies(team, l.Sources))
	for i, s := range seats {
		s.Reconfigure(next[i])
	}
	return nil
}
