package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// loadScripts reads the scripts of all models, members' and hooks', each file once.
// They are read before anything starts, so that a mistake in one is told at once
// and not by the member that comes to it an hour later.
func loadScripts(team *configs.Team) (map[string]*script.Script, error) {
	scripts := map[string]*script.Script{}
	var errs []error
	paths := hookScripts(team)
	for _, a := range launch.AgentsInUse(team) {
		paths = append(paths, a.Model.Script)
	}
	for _, path := range paths {
		if _, ok := scripts[path]; ok || path == "" {
			continue
		}
		s, err := script.Load(path)
		if err == nil && ownScript(team, path) {
			err = s.CheckTools(scriptTools())
		}
		errs = append(errs, err)
		scripts[path] = s
	}
	return scripts, errors.Join(errs...)
}

// hookScripts are the scripts of the models that hooks may name, beside those
// of the members.
func hookScripts(team *configs.Team) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(team.Models)) {
		if path := team.Models[name].Script; strings.TrimSpace(path) != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// hiring makes members of a crew: it seats them, with the transcript, the agent and the tools
// that each works with, when a team begins and while it runs.
type hiring struct {
	o *Orchestrator
	c *crew
}

// hire makes the members: each is attached to the store, gets its transcript,
// tools and agent, and a seat. The crew's dismiss closes what hire has opened.
func (h hiring) hire(ctx context.Context) error {
	for _, m := range spots(h.o.team()) {
		session, err := h.c.store.Members().Attach(ctx, m.Name, uuid.NewString)
		if err != nil {
			return err
		}
		s := newSeat(h.c, m, len(h.c.seating.all()) == 0)
		s.member.Session = session
		h.c.seating.add(s)
	}
	// All seats stand before the runner is made: a hook's member is found by its
	// session among them.
	changed, err := h.c.hooks.settings.Open(h.o.place.GateSettings())
	if err != nil {
		return err
	}
	h.o.repairs = append(h.o.repairs, changed...)
	runner, err := hookRunner(h.o, h.c)
	if err != nil {
		return err
	}
	h.c.hooks.live.Begin(runner, h.o.hooks())
	if err := h.c.work.trees.Open(ctx); err != nil {
		return ofSpec(err)
	}
	if err := h.c.work.merges.Open(ctx); err != nil {
		return err
	}
	for _, s := range h.c.seating.all() {
		if err := h.seatMember(ctx, s); err != nil {
			return fmt.Errorf("member %s: %w", s.member.Name, err)
		}
	}
	if err := h.unseatStrangers(ctx); err != nil {
		return err
	}
	if err := h.c.work.trees.Retire(ctx); err != nil {
		return err
	}
	if err := h.o.openAccounts(ctx, h.c); err != nil || h.c.only.setup {
		return err
	}
	return h.c.times.Take(ctx, h.o.team().Schedules) // before anybody can ask what comes next
}

// hookRunner is the one runner of all members' hooks. Which member a hook runs
// for follows from the session in its input.
func hookRunner(o *Orchestrator, c *crew) (*runner.Runner, error) {
	if err := hooklist.PreparePlugins(o.place.Home(), o.hooks().Sources); err != nil {
		return nil, err
	}
	return runner.New(owned.WithPolicy(o.team(), o.hooks().Sources), &runner.Options{
		Env:        launch.ChildEnvironment(o.opts.Bin, o.place),
		ProjectDir: o.team().Workspace,
		SpillDir:   o.place.Scratch(),
		Gates:      c.work.merges.GateRun,
		Policies:   c.hooks.policies.Named,
		Callbacks:  c.hooks.functions,
		Models:     newHookModels(o, c),
		Tools:      newHookTools(c),
		FailClosed: o.team().FailClosed, Interactive: c.keep,
		Locate: locate(c, o),
		Root:   c.rootOf,
		EnvFile: func(in hooks.Input) string {
			if s, ok := c.seating.bySession(in.SessionID); ok {
				return (hiring{o, c}).envFile(s)
			}
			return ""
		},
		Who: func(in hooks.Input) (team, member string) {
			if s, ok := c.seating.bySession(in.SessionID); ok {
				return o.team().Name, s.member.Name
			}
			return o.team().Name, ""
		},
		GateEnv: c.hooks.settings.Environ,
		Spawned: func(pid int, h runner.Spawn) func() {
			owner := process.Owner{Kind: process.Hook}
			if h.Hook.MayAct {
				owner.Kind = process.ActingHook
			}
			if s, ok := c.seating.bySession(h.Input.SessionID); ok {
				owner.Member = s.member.Name
			}
			return c.processes.RegisterHook(pid, owner, hooking.RunOf(h.Input, h.Depth))
		},
		Crowded: c.warnOfCrowd,
	})
}

// envFile is where a member's SessionStart hooks leave variables for its shell.
// It is not in the workspace, where another member could write what this one's
// shell runs.
func (h hiring) envFile(s *seat) string {
	return filepath.Join(h.o.place.Scratch(), s.member.Name+".env.sh")
}

// seatMember makes the teammate of a seat.
func (h hiring) seatMember(ctx context.Context, s *seat) error {
	// It is hired all the same, because its tasks, its mail and what it has cost
	// are shown; it only gets no turns.
	if s.member.Session.State == stateHalted {
		s.life.Retire(s.member.Session.Reason)
	}
	file, history, err := h.openTranscript(s)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, file.Close)
	if err := h.c.work.trees.Settle(ctx, s.member); err != nil {
		return err
	}
	workdir := workspace.NewWorkdir(s.member.Dir)
	permissions, err := permissionsOf(*s.member.Member, h.c.hooks.live.Layers().Settings)
	if err != nil {
		return err
	}
	if permissions.Mode, err = h.c.asks.Plans.StartingMode(ctx, s.member); err != nil {
		return err
	}
	letters, err := mail.Folder(h.o.place.Mail()).Make(s.member.Name)
	if err != nil {
		return err
	}
	limits := s.member.Limits
	h.c.accounts.ledger.Open(s.member.Name, limits, s.member.CurrentAgent(), history)
	var past *transcript.History // what a member has that is not new: of most there is nothing
	if history.Turns > 0 || len(history.Messages) > 0 {
		own := history
		past = &own
	}
	options := teammate.Options{
		Name: s.member.Name, Team: h.o.team().Name, Lead: s.member.Lead, Kind: roster.AgentTitle(s.member.CurrentAgent()),
		Equip: h.equipment(ctx, s, past, workdir),
		Hooks: &h.c.hooks.live, Tasks: newTaskLister(h.o, h.c), Inbox: s, Sink: h.afterTurns(ctx, s, s.billed(monitor{h.c}.sinkOf(ctx, s))),
		SessionID: s.member.Session.Session, Resumed: s.member.Session.Epoch > 1, Turn: history.Turns,
		Transcript: file, History: history, Workdir: workdir,
		Permissions: permissions, AddedDirs: []string{letters}, Writable: h.c.work.writes.Writable(s.member),
		Limits: teammate.Limits{
			MaxTurns: limits.MaxTurns, TurnTimeout: limits.TurnTimeout, StopBlockCap: limits.StopBlockCap,
		},
		Background: s.backgroundTasks, Purse: h.c.accounts.ledger.Purse(s.member.Name), Later: s.later,
		OnBackgroundHook: func(p hooks.Progress) { h.c.hooks.background.Observe(ctx, s.member.Name, p) },
		Asker:            h.c.asks.Asker(s.member.Name), OnHold: func() string { return h.c.asks.Plans.OnHold(s.member) },
	}
	h.c.surround(&options, s)
	if s.mate, err = teammate.New(options); err == nil {
		s.permissions = permissions
		s.caller = mcp.NewCaller(mcp.Life{
			Member: s.member, Life: &s.life, Mate: s.mate, Asker: h.c.asks.Asker(s.member.Name),
			Tools: func() ([]teamtools.Tool, error) { return s.teamTools(teamtools.MCPNames) },
		})
	}
	return err
}

// equipment makes a member's agent and tools when its first turn begins. A nil past is
// that of a new member.
func (h hiring) equipment(
	ctx context.Context, s *seat, past *transcript.History, workdir *workspace.Workdir,
) func() (agent.Agent, []agent.Tool, error) {
	return func() (agent.Agent, []agent.Tool, error) {
		history, err := s.crew.programs.Switch(s.member, past)
		if err != nil {
			return nil, nil, err
		}
		switch s.member.CurrentAgent().Kind {
		case configs.ACP, configs.Command:
			return h.programGear(ctx, s, history)
		}
		workspace := h.workspaceTools(s, workdir)
		tools, err := h.tools(s, workspace)
		if err != nil {
			return nil, nil, err
		}
		agent, err := h.agent(s, history, tools)
		return agent, tools, err
	}
}

// workspaceTools are the tools by which a builtin agent works in the workspace.
func (h hiring) workspaceTools(s *seat, workdir *workspace.Workdir) *tools.Set {
	t := tools.New(tools.Env{
		Workdir: workdir,
		Environ: slices.Concat(launch.ChildEnvironment(h.o.opts.Bin, h.o.place), h.c.work.trees.AuthorEnv(s.member.Name),
			[]string{"COVEY_MEMBER=" + s.member.Name}),
		EnvFile:   h.envFile(s),
		OutputDir: filepath.Join(h.o.place.Scratch(), s.member.Name),
		Withheld: func(tool string, dir *workspace.Workdir, file string) bool {
			return s.mate.Rights().Now().Withhold(rules.Call{Tool: tool, Cwd: dir.Dir(), Root: dir.Root()}, file)
		},
		Started: func(pid int) func() {
			return h.c.processes.Register(pid, process.Owner{Kind: process.MemberTool, Member: s.member.Name})
		},
	})
	s.workspace = t
	s.closers = append(s.closers, t.Close) // the member's goroutine is gone before they are called
	return t
}

// tools are all that a member may call: the workspace tools that its spec
// names, and the team tools, which every member has.
func (h hiring) tools(s *seat, workspace *tools.Set) ([]agent.Tool, error) {
	team, err := s.teamTools(teamtools.BuiltinNames)
	if err != nil {
		return nil, err
	}
	var tools []agent.Tool
	for _, t := range workspace.List() {
		if roster.MayUse(s.member.Tools, t.Spec().Name) {
			tools = append(tools, t)
		}
	}
	return append(tools, h.withHelpers(s, workspace, agentTools(team))...), nil
}

// teamTools are the tools of the team that the member has under such names.
func (s *seat) teamTools(names teamtools.ToolNames) ([]teamtools.Tool, error) {
	return s.crew.board.Tools(names, teamtools.Caller{Member: s.member, Act: s.actor})
}

// agentTools are tools of the team as an agent has them.
func agentTools(list []teamtools.Tool) []agent.Tool {
	tools := make([]agent.Tool, len(list))
	for i, t := range list {
		tools[i] = t
	}
	return tools
}

// actor is the member as it changes the team.
func (s *seat) actor(callID string) teamtools.Actor {
	a := teamtools.Actor{
		Actor: actors.Actor{Name: s.member.Name, Session: s.member.Session.Epoch, CallID: callID},
		Fire: func(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
			return s.mate.Fire(ctx, p)
		},
	}
	// Task hooks of the lead carry no teammate, and cannot stop it: a team without
	// its lead has nobody who could end it in order.
	if a.Lead = s.member.Lead; !s.member.Lead {
		a.Teammate, a.Team, a.Halt = s.member.Name, s.crew.team, s.life.Halt
	}
	return a
}

// agent makes what thinks behind a member.
func (h hiring) agent(s *seat, history transcript.History, tools []agent.Tool) (agent.Agent, error) {
	specs := make([]agent.Spec, len(tools))
	for i, t := range tools {
		specs[i] = t.Spec()
	}
	if s.member.CurrentAgent().Kind == configs.Given {
		return h.givenAgent(s, history, specs)
	}
	played := h.o.scripts()[s.member.CurrentAgent().Model.Script]
	if played == nil {
		return nil, fmt.Errorf("%w: agent %q has no model that this version can run", configs.ErrSpec, s.member.CurrentAgent().Name)
	}
	return builtin.New(builtin.Options{
		Model: played.Model(&script.Options{
			Served: history.Served(s.member.FallbackAgent()), IDPrefix: s.member.Name + "_",
		}),
		System:  func() string { return h.system(s) },
		Tools:   specs,
		History: history.Messages,
	})
}

// permissionsOf are a member's permission rules and those of the settings files.
// A rule that cannot be read fails the start: left out, it would forbid nothing.
func permissionsOf(m configs.Member, settings configs.Permissions) (permission.Policy, error) {
	p := permission.Policy{Mode: string(cmp.Or(m.PermissionMode, configs.Default))}
	var errs []error
	parse := func(lists ...[]string) []rules.Rule {
		var all []rules.Rule
		for _, text := range slices.Concat(lists...) {
			r, err := rules.Parse(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("permission rule %q: %w", text, err))
				continue
			}
			all = append(all, r)
		}
		return all
	}
	p.Allow = parse(m.Permissions.Allow, settings.Allow)
	p.Ask = parse(m.Permissions.Ask, settings.Ask)
	p.Deny = parse(m.Permissions.Deny, settings.Deny, launch.Withheld(m))
	return p, errors.Join(errs...)
}

// dismiss closes what members had open. No member runs any more.
// In reverse order of opening, as defers would: tools end before the transcript
// that their output goes into.
func (c *crew) dismiss() {
	defer c.work.trees.Close()
	c.tools.Close()
	defer c.programs.Close()
	if err := c.around.files.Close(); err != nil {
		c.log.Error("closing the watch over files", "err", err)
	}
	if err := c.hooks.servers.Close(); err != nil {
		c.log.Error("ending the servers of hooks' tools", "err", err)
	}
	for _, s := range c.seating.all() {
		c.closeSeat(s)
	}
}

// closeSeat closes what a member has open, the last first: what was opened last may use
// what was opened before. The member's goroutine calls it last, or whoever knows that the
// member has none.
func (c *crew) closeSeat(s *seat) {
	closers := s.closers
	s.closers = nil
	for _, closer := range slices.Backward(closers) {
		if err := closer(); err != nil && !errors.Is(err, os.ErrClosed) {
			c.log.Error("closing what a member had open", "member", s.member.Name, "err", err)
		}
	}
}

// unseatStrangers gives back the tasks of members that the spec no longer has.
// Nobody would ever be woken for them. A name that comes back into the spec later
// finds its session again, and its mail.
func (h hiring) unseatStrangers(ctx context.Context) error {
	known, err := h.c.store.Members().List(ctx)
	if err != nil {
		return err
	}
	for _, m := range known {
		if _, ok := h.c.seating.of(m.Name); ok {
			continue
		}
		if _, err := h.c.release(ctx, m.Name, "the spec has no member of this name any more"); err != nil {
			return err
		}
	}
	return nil
}
