package orchestrator

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/boxes"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// team is a running team: its crew, and what the crew and the operator's commands work
// with.
type team struct {
	*seatBuilder
	crew    *crew.Crew
	control *api.Server
	reload  *teamhooks.Reloader
	trust   *trust.Guard
	people  *notices.Notices
}

// seatBuilder makes the members of a team, at its start and while it runs: it fills their
// seats with transcript, agent and tools.
type seatBuilder struct {
	o *Orchestrator
	thisRun
	crew.Deps
	repairs   []string // of the store, for people
	environ   []string // of programs that are no member's
	sockets   *api.Sockets
	boxes     *boxes.Boxes
	writes    *writes.Watch
	around    workspaceFiles
	goals     *specs.Goals
	templates *specs.Templates
	times     *specs.Timetable
	hooks     *teamhooks.Live
	settings  *teamhooks.GateSettings // settings of gates
	slots     *state.Slots            // of gates and setups
	policies  *teamhooks.Policies
	copies    *workcopies.Trees
	tools     *mcp.Server  // serves agent programs over MCP
	servers   *mcp.Clients // MCP servers of the spec and of plugins
	roster    *port.Roster // members on other hosts; nil: there are none
	passed    passedCommands
}

// opened is what a run has opened before it makes its team.
type opened struct {
	store   *tasks.Store
	journal *state.Journal
	bus     *bus.Bus
	state   *view.Live // what the members do and have done
	repairs []string   // of the store, for people
}

// newTeam makes a team without seats.
//
// It leaves no goroutine and no process, so after an error there is nothing to close. It is
// called once per run, after the store is open and before the journal runs.
func newTeam(
	ctx context.Context, o *Orchestrator, this thisRun, found opened,
) (*team, error) {
	store, j := found.store, found.journal
	stalled := o.opts.Overrides.Stalled
	if stalled == nil {
		stalled = this.lead.stalled
	}
	seats, loop, clock := &crew.Seats{}, members.NewLoop(o.opts.Overrides.LosesPoke), o.opts.Overrides.Clock
	tell := func(member string, e events.Data) { // of a member in its turn, or of the team
		j.Append(events.Event{Member: member, Turn: seats.Turn(member), Data: e})
	}
	holds, err := members.OpenHolds(ctx, store, clock, func(member string, e events.Data) {
		tell(member, e)
		loop.Poke()
	})
	if err != nil {
		return nil, err
	}
	spawned, notes, err := o.newTemplates(ctx, specs.TemplateDeps{Store: store, Team: o.team, Over: loop.Over(), Member: seats.Member})
	if err != nil {
		return nil, err
	}
	found.repairs = append(found.repairs, notes...)
	control := api.NewServer()
	builder := o.newSeatBuilder(ctx, this, found, crew.Deps{
		Team: o.team, Store: store, Journal: j, Place: o.place, Short: &o.short, Bus: found.bus, State: found.state, Log: o.opts.Log, Clock: clock,
		Processes: process.New(func(pid int) bool { return proc.Carries(pid, o.place.Mark()) }),
		Loop:      loop, Stalled: stalled, Group: &members.Group{}, Seats: seats, Watch: &members.Watch{}, Holds: holds, Lane: this.lane, Hosts: this.hosted != nil,
	}, spawned, tell, control)
	guard := trust.NewGuard(o.place, j.Warn)
	t := &team{
		seatBuilder: builder, control: control, trust: guard, crew: crew.New(builder.Deps, builder.makeOccupant),
		reload: teamhooks.NewReloader(teamhooks.ReloaderDeps{
			Team: o.team(), Layers: o.hooks(), Managed: o.opts.ManagedFolders, Watch: builder.around.files.Watch(),
			Fire: seats.Fire, Warn: j.Warn, Apply: builder.applyHooks, Trusted: guard.Counts,
		}),
		people: notices.New(notices.Deps{
			Team: o.team, Store: store, Journal: j, Clock: clock, Log: o.opts.Log, Processes: builder.Processes,
			Environ: builder.environ, Terminal: o.opts.Terminal, Page: func() string { return withoutToken(o.opts.Page.URL()) },
		}),
	}
	if this.hosted != nil {
		this.hosted.team = t
	}
	return t, nil
}

// newSeatBuilder makes the features of a team, each of those above it. What they have to know of
// members, the seats tell them. d has what all of them use. tell reports an event of a member, or of
// the team. control knows who follows the team.
func (o *Orchestrator) newSeatBuilder(
	ctx context.Context, this thisRun, found opened, d crew.Deps, spawned *specs.Templates,
	tell func(string, events.Data), control *api.Server,
) *seatBuilder {
	sockets := &api.Sockets{Bus: found.bus, Place: o.place, Processes: d.Processes, Warn: d.Journal.Warn}
	environ, letters := slices.Concat(launch.ChildEnvironment(o.opts.Bin, o.place), sockets.Env("")), mail.Folder(o.place.Mail())
	shares, goals := &accounts.Shares{Store: d.Store}, specs.NewGoals(d.Store, filepath.Join(o.place.Scratch(), "effort.json"))
	coordination := &accounts.Notices{Journal: d.Journal}
	ledger := accounts.NewLedger(o.team().Budget, o.prices(), accounts.LedgerDeps{
		Store: d.Store, Tell: tell, Changed: d.Loop.Poke, Interrupt: d.Seats.Interrupt,
	})
	logins := accounts.NewLogins(accounts.LoginDeps{
		Store: d.Store, Journal: d.Journal, Clock: d.Clock, Members: d.Seats, Changed: d.Loop.Poke, OnLimit: ledger.OnLimit,
		Fallbacks: o.agentsOf, Command: launch.LoginCommand, Key: launch.KeyOf,
	})
	notes := teamtools.NewNotes(d.Store.Mail(), func() string { return d.Seats.LeadMember().Name }, d.Loop.Poke)
	asks := inbox.New(o.team(), inbox.Deps{
		Store: d.Store, Journal: d.Journal, Clock: d.Clock, Log: d.Log, Members: d.Seats, Group: d.Group,
		Letters: letters, Changed: d.Loop.Poke, Attached: control.Attached, Lend: logins.Lend,
		Reachable: func() bool { return !o.opts.Unattended && (control.Reached() || o.tells()) },
	})
	times := specs.NewTimetable(d.Store, d.Journal, d.Clock, d.Loop)
	live, settings := &teamhooks.Live{Functions: cmp.Or(o.opts.Hooks, &hooks.Registry{})}, &teamhooks.GateSettings{}
	background := teamhooks.NewBackground(d.Store, d.Clock, d.Loop.Poke, tell)
	var copies *workcopies.Trees // made in boxes
	all := o.newBoxes(environ, func(member string) (string, bool) { return copies.TopOf(member) }, tell)
	slots := state.NewSlots(o.place.Home(), func() int { return o.team().GatesAtOnce }, tell)
	copies = workcopies.New(workcopies.Deps{
		Place: o.place, Store: d.Store, Journal: d.Journal, Processes: d.Processes, Clock: d.Clock,
		Functions: live.Functions, Hooks: live, Environ: environ, EnvOf: sockets.Env, Slots: slots, Box: setupBoxOf(all), GitBox: all.Git,
		Team: o.team, Filters: func() []worktree.Filter { return o.spec.Load().filters },
		Fresh: o.opts.Fresh, Left: this.left, MakeNone: this.only.Merge != nil,
	})
	written := writes.New(writes.Deps{
		Scratch: o.place.Scratch(), Home: filepath.Dir(o.place.Dir), Journal: d.Journal, Git: copies.Git(),
		Team: o.team, Members: d.Seats, CopyOf: copies.TopOf, Asks: live.NamesPolicy,
	})
	merges := merging.New(merging.Deps{
		Version: o.opts.Version, Place: o.place, Store: d.Store, Journal: d.Journal, Clock: d.Clock, Log: d.Log, Trees: copies, Members: d.Seats, Inbox: asks, State: d.State,
		Team: o.team, Environ: environ, GateEnv: settings.Environ, Box: boxOf(all, ""), Slots: slots,
		Spawned: func(pid int, h runner.Spawn) func() {
			return d.Processes.RegisterHook(pid, process.Owner{Kind: process.Hook}, teamhooks.RunOf(h.Input, h.Depth))
		},
		Changed: d.Loop.Poke, Over: d.Loop.Over(), Mask: o.mask,
	})
	policies := teamhooks.NewPolicies(teamhooks.PolicyDeps{
		Store: d.Store, State: d.State, Members: d.Seats, Inbox: asks, Copies: copies, Writes: written, Merges: merges,
		Approvals: inbox.NewApprovals(asks, merges, o.completesOnPass), OnPass: o.completesOnPass,
	})
	board := teamtools.New(o.team(), teamtools.Deps{
		Store: d.Store, Letters: letters, Clock: d.Clock, Members: d.Seats, Requests: asks, Questions: asks.Questions,
		Plans: asks.Plans, Work: merges, Goals: goals, News: notes, Schedules: times, Templates: spawned, Act: d.Seats.Act,
	})
	tools := mcp.New(mcp.Deps{
		Log: d.Log, Processes: d.Processes, State: d.State, Members: d.Seats, NoSeat: board.NoSeat, Append: d.Journal.Append,
	})
	servers := o.newServers(d, environ, asks, all)
	programs := launch.NewPrograms(launch.Deps{
		Bin: o.opts.Bin, Place: o.place, Log: d.Log, Store: d.Store, Processes: d.Processes, Ledger: ledger,
		Timeouts: o.opts.Overrides.Patience, Backoff: o.opts.Overrides.Backoff,
		Found: o.programs, Scripts: o.scripts, Goal: goals.Text,
		Charge: shares.Charge, Admit: tools.Admit, InBox: tools.InBox, Revoke: tools.Revoke, Box: all.Program,
		Lane: this.lane, Gateway: newGateway(d, ledger),
	})
	d.Ledger, d.Notices, d.Logins, d.Notes, d.Asks, d.Background = ledger, coordination, logins, notes, asks, background
	d.Merges, d.Board, d.Programs = merges, board, programs
	d.StaysUp = func() bool { return o.staysUp() || times.Awaits(d.Seats.TakesTurns) }
	// The crew tells them of its members and their events in this order. A limit of the ledger
	// outweighs a lockout, and calls that ask end before the inbox.
	d.Parts = []crew.Part{
		programs, ledger, logins, background, notes, written, o.drafts, // most of these complete events
		coordination, shares, d.Watch, times,
		live, d.Holds, tools, asks, merges, copies, spawned, sockets, all,
	}
	return &seatBuilder{
		o: o, roster: newRoster(this.nodes), thisRun: this, repairs: found.repairs, Deps: d, environ: environ, sockets: sockets, boxes: all, writes: written,
		around: workspaceFilesOf(ctx, o.team().Workspace), goals: goals, times: times, hooks: live,
		passed: passedCommands{}, settings: settings, slots: slots, policies: policies, templates: spawned, copies: copies, tools: tools, servers: servers,
	}
}

// tells reports whether people get to know of a question whether work is merged without a screen of their
// own: by a page or a notice, or because the spec says that they look.
func (o *Orchestrator) tells() bool {
	team := o.team()
	return team.OnAsk == configs.WaitAsk || o.opts.Page.URL() != "" || slices.ContainsFunc(team.Notify, func(n configs.Notify) bool {
		return slices.Contains(n.About, configs.NotableMergeHeld)
	})
}

// newServers makes the connections to the MCP servers of a team.
func (o *Orchestrator) newServers(d crew.Deps, environ []string, asks *inbox.Inbox, all *boxes.Boxes) *mcp.Clients {
	return mcp.NewClients(mcp.ClientDeps{
		Workspace: o.team().Workspace, Environ: environ, // no member's, because a server serves all of them
		Clock: d.Clock, Key: launch.ReadKey, Warn: d.Journal.Warn, Fire: d.Seats.Fire, Ask: asks.FillIn,
		Started: func(pid int) func() { return d.Processes.Register(pid, process.Owner{Kind: process.Hook}) },
		Box: func() (*sandbox.Box, []string, error) {
			kit, err := all.Server()
			return kit.Box(), kit.Env(), err
		},
	}, o.hooks().Servers)
}

// newBoxes makes the boxes of a team.
func (o *Orchestrator) newBoxes(environ []string, copyOf func(string) (string, bool), tell func(string, events.Data)) *boxes.Boxes {
	all := boxes.New(boxes.Deps{
		Place: o.place, Bin: o.opts.Bin, Environ: environ, Team: o.team, CopyOf: copyOf, Support: o.opts.Overrides.support, Tell: tell,
	})
	all.Sweep()
	return all
}

// setupBoxOf returns the function that gives commands of worktree.setup their boxes.
func setupBoxOf(all *boxes.Boxes) func(configs.Sandbox, string, string, string) (*sandbox.Box, []string, error) {
	return func(s configs.Sandbox, name, dir, line string) (*sandbox.Box, []string, error) {
		kit, err := all.Setup(s, name, dir, line)
		return kit.Box(), kit.Env(), err
	}
}

// boxOf returns the function that gives hooks their boxes, which are those of a member.
func boxOf(all *boxes.Boxes, member string) func(hooks.Input, hooks.Handler, string) (*sandbox.Box, []string, error) {
	return func(_ hooks.Input, h hooks.Handler, dir string) (*sandbox.Box, []string, error) {
		kit, err := all.Hook(member, h, dir)
		return kit.Box(), kit.Env(), err
	}
}

// support returns what this system can hold of sandboxes.
func (o Overrides) support() sandbox.Support {
	if o.Sandbox != nil {
		return *o.Sandbox
	}
	return systemSupport()
}

// sandboxed reports whether anything of a team runs in a box.
func sandboxed(team *configs.Team) bool {
	on := team.Sandbox.On() || team.GateSandbox.On()
	for _, s := range team.OwnSandboxes() {
		on = on || s.On()
	}
	for m := range team.EachAndTemplates() {
		on = on || m.Sandbox.On()
	}
	return on
}

// systemSupport asks the kernel once, because it takes processes.
var systemSupport = sync.OnceValue(sandbox.Probe)

// mask hides the values of keys in a text. The spec, and with it the variables that hold keys, may
// change while the team runs.
func (o *Orchestrator) mask(text string) string {
	return texts.Mask(text, launch.Secrets(o.team(), os.Environ()))
}

// dismiss closes what members had open, in reverse order of opening, after all of them
// have ended: tools end before the transcript that their output goes into.
func (t *team) dismiss() {
	defer t.copies.Close()
	t.tools.Close()
	defer t.Programs.Close()
	if err := t.around.files.Close(); err != nil {
		t.Log.Error("closing the watch over files", "err", err)
	}
	t.servers.Close()
	for _, s := range t.Seats.All() {
		s.Close(t.Log)
	}
}
