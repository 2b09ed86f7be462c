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

	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/boxes"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/memory"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
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

// loadScripts reads the scripts of all models, of members and of hooks, each file once.
// It runs before anything starts, so that an error is reported at once and not when a
// member needs the script.
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
		if err == nil && launch.OwnScript(team, path) {
			err = s.CheckTools(ScriptTools())
		}
		errs = append(errs, err)
		scripts[path] = s
	}
	return scripts, errors.Join(errs...)
}

// hookScripts returns the scripts of the models that hooks may name, in addition to those
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

// hire makes the members: each is added to the store and gets its transcript, tools,
// agent and seat. team.dismiss closes what hire has opened. repairs says for people what had
// changed in the settings of gates.
//
// The order of the steps matters. The settings of gates and the runner come first, because
// making a working copy may run hooks. Working copies come before seats, because a seat's
// directory may be one of them. Tasks of removed members are opened once all seats exist,
// so that nobody's tasks are opened by mistake, and their working copies retire after that.
// The use of former members is counted when the present ones have been, and the schedules
// come last.
func (t *team) hire(ctx context.Context) (repairs []string, err error) {
	repairs, err = t.settings.Open(t.o.place.GateSettings())
	if err != nil {
		return nil, err
	}
	runner, err := t.hookRunner()
	if err != nil {
		return nil, err
	}
	t.hooks.Use(runner, t.o.hooks())
	steps := []func(context.Context) error{
		t.copies.Open, t.Merges.Open, t.crew.SeatAll, t.crew.ReleaseTasksOfRemoved, t.copies.Retire, t.openAccounts,
	}
	if t.hosted != nil {
		steps = steps[:3] // who is a member here is not known yet
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if t.only.Setup || t.hosted != nil {
		return repairs, nil
	}
	return repairs, t.times.Replace(ctx, t.o.team()) // before Status can be called
}

// envFile returns the file in which a member's SessionStart hooks leave variables for its
// shell. It is outside the workspace, where another member could write it.
func (h *seatBuilder) envFile(s *crew.Seat) string {
	return filepath.Join(h.o.place.Scratch(), s.Member.Name+".env.sh")
}

// makeOccupant makes who works at a seat.
//
// It runs in the goroutine that seats members: that of Run before the crew begins, and the
// crew's loop afterwards. What it opens is registered with s.OnClose at once, so that the
// seat closes it if a later step fails. The agent is made only when the first turn begins,
// so that a member that never gets work costs almost nothing.
func (h *seatBuilder) makeOccupant(ctx context.Context, s *crew.Seat) (_ crew.Occupant, err error) {
	defer func() {
		if _, seated := h.Seats.Of(s.Member.Name); err != nil && !seated {
			h.copies.Forget(s.Member.Name)
		}
	}()
	if h.roster != nil && len(h.o.on(s.Member.Member)) > 0 {
		return h.makeAfar(ctx, s)
	}
	if err := h.openFolders(ctx, s); err != nil { // a guest's transcript may come then
		return crew.Occupant{}, err
	}
	file, history, unfit, err := launch.OpenTranscript(h.o.place, s.Member)
	if err != nil {
		return crew.Occupant{}, err
	}
	s.OnClose(file.Close)
	workdir := workspace.NewWorkdir(s.Member.Dir)
	permissions, err := h.startingPolicy(ctx, s)
	if err != nil {
		return crew.Occupant{}, err
	}
	letters, err := mail.Folder(h.o.place.Mail()).Make(s.Member.Name)
	if err != nil {
		return crew.Occupant{}, err
	}
	var mate *teammate.Teammate
	shown := h.instructionsOf(s.Member, workdir, func() permission.Policy {
		if mate != nil { // rules change during a session
			return mate.Rights().Now()
		}
		return permissions
	})
	limits := s.Member.Limits
	h.Ledger.Open(s.Member.Name, limits, s.Member.CurrentAgent(), history)
	if err := h.Programs.RecallCost(ctx, s.Member.Name); err != nil {
		return crew.Occupant{}, err
	}
	var past *transcript.History // nil for most: the closure of Equip keeps it as long as the member lives
	if history.Turns > 0 || len(history.Messages) > 0 {
		past = &history
	}
	kind, home := s.Member.CurrentAgent().Kind, h.homeOf(ctx, s)
	options := teammate.Options{
		Name: s.Member.Name, Team: h.o.team().Name, Lead: s.Member.Lead, Kind: members.AgentTitle(s.Member.CurrentAgent()),
		Others: h.serverTools(s),
		Await:  h.awaitTool(s),
		Equip: h.equipment(ctx, s, gear{
			past: past, workdir: workdir, system: func() string { return h.system(s.Member, shown) },
		}),
		Hooks: h.gatesOf(s), Tasks: home.Tasks, Inbox: home.Inbox, Sink: home.Sink,
		Drafts:    func(helper string) agent.Draft { return h.o.drafts.Of(s.Member.Name, helper) },
		SessionID: s.Member.Session.Session, Resumed: s.Member.Session.Epoch > 1,
		Transcript: file, History: &history, Workdir: workdir,
		Rights: permission.NewRights(permissions, []string{letters}), Writable: h.writes.Writable(s.Member),
		Limits: teammate.Limits{
			MaxTurns: limits.MaxTurns, TurnTimeout: limits.TurnTimeout, StopBlockCap: limits.StopBlockCap,
		},
		Program:    kind == configs.ACP || kind == configs.Command,
		Background: s.BackgroundTasks, Crons: home.Crons, Awaits: s.AwaitedRun, Purse: home.Purse, PostNotice: home.PostNotice,
		OnBackgroundHook: home.OnBackgroundHook, Asker: home.Asker, OnHold: home.OnHold,
	}
	// After the options are complete, because it reads the member's directory from them.
	h.surround(&options, s.Member, shown)
	if mate, err = teammate.New(options); err != nil {
		return crew.Occupant{}, err
	}
	caller := &mcp.Caller{
		Member: s.Member, Life: &s.Life, Teammate: mate, Rights: mate.Rights(),
		Asker: options.Asker,
		Tools: func() ([]teamtools.Tool, error) { return s.TeamTools(teamtools.MCPNames) },
	}
	return crew.Occupant{Teammate: mate, Permissions: &permissions, Caller: caller, Unfit: unfit}, nil
}

// startingPolicy returns the rules with which a member's life begins.
//
// The mode of the spec is only the usual one: a mode that the lead or a person has
// given, and that of an approved plan, outlast a restart and take precedence.
func (h *seatBuilder) startingPolicy(ctx context.Context, s *crew.Seat) (permission.Policy, error) {
	p, err := h.o.policyOf(s.Member, h.hooks.Layers().Settings, h.o.team())
	if err != nil {
		return p, err
	}
	if g := s.Guest(); g != nil {
		p.Mode = g.Order().Mode
		return p, nil
	}
	p.Mode, err = h.Asks.Plans.StartingMode(ctx, s.Member)
	return p, err
}

// openFolders makes the folders in which a member works and keeps its notes.
func (h *seatBuilder) openFolders(ctx context.Context, s *crew.Seat) error {
	m := s.Member
	err := h.copies.AssignDir(ctx, m)
	if g := s.Guest(); err == nil && g != nil {
		err = g.Arrive(ctx)
	}
	if err != nil {
		return err
	}
	if m.Remembers, err = memory.Open(h.o.place.Memory(), m); err != nil {
		h.Journal.Append(events.Event{Member: m.Name, Data: events.Warning{Text: err.Error()}})
	}
	return nil
}

// gatesOf returns the hooks of a member, whose gates are journaled with the tasks that they
// judge.
func (h *seatBuilder) gatesOf(s *crew.Seat) teamhooks.Gated {
	return teamhooks.Gated{Live: h.hooks, Tell: func(g events.GateAsked) {
		h.note(context.Background(), s, g)
	}}
}

// gear is what a member's agent and tools are made of.
type gear struct {
	past    *transcript.History // nil: the member is new
	workdir *workspace.Workdir
	system  func() string // the prompt for an agent whose model covey calls
	tools   []agent.Tool  // its tools, once they are made
}

// equipment returns the function that makes a member's agent and tools when its first
// turn begins.
func (h *seatBuilder) equipment(ctx context.Context, s *crew.Seat, g gear) func() (agent.Agent, []agent.Tool, error) {
	return func() (agent.Agent, []agent.Tool, error) {
		if h.only.Decide != nil {
			tools, err := h.toolsToDecide(ctx, s, g.workdir)
			return noAgent{}, tools, err
		}
		history, err := h.Programs.Switch(s.Member, g.past)
		if err != nil {
			return nil, nil, err
		}
		// CurrentAgent may be a fallback, whose kind differs from that of the spec; so it
		// is asked here, each time that the equipment is made.
		switch s.Member.CurrentAgent().Kind {
		case configs.ACP, configs.Command:
			return h.programGear(ctx, s, history)
		}
		if err := h.boxes.Builtin(ctx, s.Member); err != nil { // a program may have been its agent
			return nil, nil, err
		}
		workspace := h.workspaceTools(ctx, s, g.workdir)
		tools, err := h.agentTools(s, workspace)
		if err != nil {
			return nil, nil, err
		}
		own, err := h.switchModel(ctx, s, history)
		if err != nil {
			return nil, nil, err
		}
		agent, err := h.agent(s, own, history, gear{system: g.system, tools: tools})
		return agent, tools, err
	}
}

// workspaceTools returns the workspace tools of a builtin agent.
func (h *seatBuilder) workspaceTools(ctx context.Context, s *crew.Seat, workdir *workspace.Workdir) *tools.Set {
	skills, box := h.skills(s, workdir), h.boxes.Of(s.Member.Name)
	t := tools.New(tools.Env{
		Workdir: workdir,
		Environ: slices.Concat(launch.ChildEnvironment(h.o.opts.Bin, h.o.place), h.copies.AuthorEnv(s.Member.Name),
			h.copies.Ports(s.Member.Name), h.sockets.Env(s.Member.Name), box.Env(), []string{"COVEY_MEMBER=" + s.Member.Name}),
		Box: box.Box(),
		Denied: func(output, dir string) string {
			denied := box.Denials(output, dir)
			for _, d := range denied {
				h.note(ctx, s, d)
			}
			return boxes.Explain(denied)
		},
		EnvFile:   h.envFile(s),
		Skills:    skills,
		OutputDir: filepath.Join(h.o.place.Scratch(), s.Member.Name),
		// The rights are read at each call: hooks, people and a reloaded settings file
		// change them during a session.
		Withheld: func(tool string, dir *workspace.Workdir, file string) bool {
			return s.Teammate().Rights().Now().Withhold(rules.Call{Tool: tool, Cwd: dir.Dir(), Root: dir.Root()}, file)
		},
		Named: func(call agent.ToolCall) bool {
			return s.Teammate().Rights().Now().Names(rules.Call{Tool: call.Name, Input: call.Input})
		},
		Started: func(pid int) func() {
			return h.Processes.Register(pid, process.Owner{Kind: process.MemberTool, Member: s.Member.Name})
		},
		OnRun:      func(e tools.RunEvent) { s.ObserveRun(ctx, e) },
		AwaitLimit: s.Member.Limits.Background, AwaitChanged: s.TellAwaitedRun,
	})
	s.UseWorkspace(t, skills)
	return t
}

// skills returns the skills of a member that works in workdir. In a working copy of its own
// it gets the copy's, whose files it may read.
func (h *seatBuilder) skills(s *crew.Seat, workdir *workspace.Workdir) *tools.Skills {
	known, _ := h.o.team().Skills() // the layers of hooks warn of broken ones
	var list []tools.Skill
	for _, k := range known {
		// A member in a working copy reads the copy's version of a skill. Where its branch
		// has none, it gets the workspace's.
		if rel, ok := texts.Below(h.o.team().Workspace, k.File); ok {
			own := filepath.Join(workdir.Root(), rel)
			if _, err := os.Stat(own); err == nil {
				k.File = own
			}
		}
		list = append(list, tools.Skill{Name: k.Name, Description: k.Description, File: k.File, Manual: k.Manual})
	}
	return tools.NewSkills(list, s.Member.Session.Session, filepath.Join(h.o.place.Scratch(), s.Member.Name, "skills-loaded.jsonl"))
}

// agentTools returns all tools of a member: the workspace tools that its spec names, and the
// team tools, which every member has.
func (h *seatBuilder) agentTools(s *crew.Seat, workspace *tools.Set) ([]agent.Tool, error) {
	team, err := s.TeamTools(teamtools.BuiltinNames)
	if err != nil {
		return nil, err
	}
	var tools []agent.Tool
	for _, t := range workspace.List() {
		if members.MayUse(s.Member.Tools, t.Spec().Name) {
			tools = append(tools, t)
		}
	}
	return append(tools, h.withHelpers(s, workspace, asAgentTools(team))...), nil
}

// serverTools returns the function that lists the tools of the spec's MCP servers that a member has.
func (h *seatBuilder) serverTools(s *crew.Seat) func(context.Context) []agent.Tool {
	return func(ctx context.Context) []agent.Tool {
		may := func(tool string) bool { return members.MayUse(s.Member.Tools, tool) }
		return h.servers.Tools(ctx, s.Member.Name, may)
	}
}

// awaitTool returns the function that waits for a tool of the spec's MCP servers that a member has.
func (h *seatBuilder) awaitTool(s *crew.Seat) func(context.Context, string) error {
	return func(ctx context.Context, tool string) error {
		if tool == teamtools.SpawnName { // Await is called only for tools that the member does not have
			return errors.New("only the lead adds teammates, and only from the templates of the spec")
		}
		if !members.MayUse(s.Member.Tools, tool) {
			return nil
		}
		return h.servers.Await(ctx, tool)
	}
}

// asAgentTools converts team tools to an agent's tools.
func asAgentTools(list []teamtools.Tool) []agent.Tool {
	tools := make([]agent.Tool, len(list))
	for i, t := range list {
		tools[i] = t
	}
	return tools
}

// agent makes a member's agent, whose model is own.
func (h *seatBuilder) agent(s *crew.Seat, own configs.Model, history transcript.History, g gear) (agent.Agent, error) {
	specs := make([]agent.Spec, len(g.tools))
	for i, t := range g.tools {
		specs[i] = t.Spec()
	}
	if s.Member.CurrentAgent().Kind == configs.Given {
		return h.givenAgent(s, history, specs, g.system())
	}
	options := builtin.Options{System: g.system, Tools: specs, History: history.Messages}
	var err error
	if options.Model, err = h.model(s, own, history.Served(s.Member.FallbackAgent())); err != nil {
		return nil, fmt.Errorf("make its model: %w", err)
	}
	for _, spec := range h.o.team().Fallbacks(own) {
		// The transcript names the model where it is not the agent's own.
		model, err := h.model(s, spec, history.Served(spec.FullName()))
		if err != nil {
			return nil, fmt.Errorf("make the model that it falls back to: %w", err)
		}
		options.Fallbacks = append(options.Fallbacks, model)
	}
	return builtin.New(options)
}

// model makes a model of a builtin agent. served is how often the steps of a script have served
// it.
func (h *seatBuilder) model(s *crew.Seat, spec configs.Model, served map[int]int) (agent.Model, error) {
	lane, err := h.lane(s.Member)
	if err != nil {
		return nil, err
	}
	if spec.BaseURL != "" {
		return launch.NewModel(spec, h.o.prices(), lane, h.Programs.GateOf(s.Member, spec))
	}
	played := h.o.scripts()[spec.Script]
	if played == nil {
		return nil, fmt.Errorf("%w: agent %q has no model", configs.ErrSpec, s.Member.CurrentAgent().Name)
	}
	return lane.Model(played.Model(&script.Options{
		Served: served, IDPrefix: s.Member.Name + "_",
		Name: spec.FullName(), Window: h.o.prices().Window(spec.FullName()),
	})), nil
}

// policyOf returns a member's permission rules: those of permissionsOf, and those for its memory.
func (o *Orchestrator) policyOf(m *members.Member, settings configs.Permissions, team *configs.Team) (permission.Policy, error) {
	spec := *m.Member
	allow, deny := memory.Permissions(o.place.Memory(), team, m)
	spec.Permissions.Allow = slices.Concat(spec.Permissions.Allow, allow)
	spec.Permissions.Deny = slices.Concat(spec.Permissions.Deny, deny, m.Sandbox.Rules())
	return permissionsOf(spec, settings, team.File)
}

// permissionsOf returns a member's permission rules together with those of the settings
// files. A rule that cannot be read is an error, because without it something might be
// allowed. spec is the path of the team's spec.
func permissionsOf(m configs.Member, settings configs.Permissions, spec string) (permission.Policy, error) {
	p := permission.Policy{Mode: string(cmp.Or(m.PermissionMode, configs.Default)), ByFlags: state.IsRunSpec(spec)}
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
	// The lists of the spec and of the settings files are added up. Deny wins over ask, and
	// ask over allow, wherever they come from, so their order does not matter.
	p.Allow = parse(m.Permissions.Allow, settings.Allow)
	p.Ask = parse(m.Permissions.Ask, settings.Ask)
	p.Deny = parse(m.Permissions.Deny, settings.Deny, launch.Withheld(m))
	p.Held = parse(m.Permissions.Held)
	for _, mode := range m.Modes {
		p.Modes = append(p.Modes, string(mode))
	}
	return p, errors.Join(errs...)
}

// ScriptTools returns the tools that a script of the builtin agent may call. The member's
// spec says which of them it has.
func ScriptTools() []string {
	return slices.Concat(settings.OwnTools(), []string{teamtools.ReportTool, teamtools.SpawnName, inbox.PlanTool, runner.AnswerTool})
}
