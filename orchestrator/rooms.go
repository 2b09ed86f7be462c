package orchestrator

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/templates"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/writes"
	"github.com/coveyteam/covey/tasks"
)

// rooms is a running team: its crew, and what the crew and the operator's commands work
// with.
type rooms struct {
	store     *tasks.Store
	journal   *journal.Journal
	state     *view.Live      // what the members do and have done
	short     *state.Shortage // records full-disk errors of members
	bus       *bus.Bus
	processes *process.Processes
	log       *slog.Logger
	clock     members.Clock
	loop      *members.Loop
	group     members.Group // goroutines that the end of the crew waits for
	seats     crew.Seats
	board     *teamtools.TaskAPI
	control   *api.Server
	tools     *mcp.Server  // serves agent programs over MCP
	servers   *mcp.Clients // MCP servers of the spec and of plugins
	programs  *launch.Programs
	hooks     teamHooks
	trust     *trust.Guard
	around    workspaceFiles
	times     *specs.Timetable
	logins    *accounts.Logins
	usage     usage
	work      work
	watch     members.Watch // finds members that hang
	asks      *inbox.Inbox
	holds     *members.Holds
	goals     *specs.Goals
	notes     *teamtools.Notes
	templates *templates.Templates
	crew      *crew.Crew
	notices   *notices.Notices
}

// teamHooks are the hooks of a team and what runs them.
type teamHooks struct {
	live       teamhooks.Live
	background *teamhooks.Background
	reload     *teamhooks.Reloader
	settings   teamhooks.GateSettings // settings of gates
	policies   *teamhooks.Policies
}

// usage counts what the team and its members use.
type usage struct {
	ledger  *accounts.Ledger
	shares  accounts.Shares
	notices accounts.Notices
}

// work manages the working copies, the ownership of files, and merging.
type work struct {
	Trees  *workcopies.Trees
	Writes *writes.Watch
	Merges *merging.Merger
	Slots  *state.Slots // of gates and setups
}

// newRooms makes a team without seats. Its parts refer to each other by functions that
// are called only once members work, when all parts exist.
//
// It leaves no goroutine and no process, so after an error there is nothing to close. It is
// called once per run, after the store is open and before the journal runs.
func newRooms(
	ctx context.Context, o *Orchestrator, store *tasks.Store, j *journal.Journal, b *bus.Bus, live *view.Live,
) (*rooms, error) {
	r := &rooms{
		store: store, journal: j, bus: b, state: live, short: &o.short, log: o.opts.Log, clock: o.opts.Overrides.Clock,
		loop:      members.NewLoop(o.opts.Overrides.LosesPoke),
		goals:     specs.NewGoals(store, filepath.Join(o.place.Scratch(), "effort.json")),
		processes: process.New(func(pid int) bool { return proc.Carries(pid, o.place.Mark()) }), around: workspaceFilesOf(ctx, o.team().Workspace),
	}
	if r.hooks.live.Functions = o.opts.Hooks; r.hooks.live.Functions == nil {
		r.hooks.live.Functions = &hooks.Registry{}
	}
	r.usage.shares.Store, r.usage.notices.Journal = store, j
	r.control = api.NewServer()
	r.usage.ledger = accounts.NewLedger(o.team().Budget, o.prices(), accounts.LedgerDeps{
		Store: store, Journal: j, Changed: r.loop.Poke, Interrupt: r.seats.Interrupt,
	})
	var err error
	if r.templates, err = newTemplates(ctx, o, r); err != nil {
		return nil, err
	}
	r.logins = accounts.NewLogins(accounts.LoginDeps{
		Store: store, Journal: j, Clock: r.clock, Members: &r.seats, Changed: r.loop.Poke, OnLimit: r.usage.ledger.OnLimit,
		Fallbacks: agentsOf(o), Command: launch.LoginCommand, Key: launch.KeyOf,
	})
	r.notes = teamtools.NewNotes(store.Mail(), func() string { return r.seats.Lead().Member.Name }, r.loop.Poke)
	r.asks = newInbox(o, r)
	r.times = specs.NewTimetable(store, j, r.clock, r.loop)
	r.work.Slots = state.NewSlots(o.place.Home(), func() int { return o.team().GatesAtOnce }, r.tell)
	r.work.Trees = newTrees(o, r)
	r.work.Writes = newWrites(o, r)
	r.work.Merges = newDesk(o, r)
	r.board = newBoard(o, r)
	r.tools = mcp.New(mcp.Options{Log: r.log, Processes: r.processes, State: live, Members: mcpMembers{r}, Append: j.Append})
	r.servers = newServers(o, r, o.hooks().Servers)
	r.programs = programsOf(o, r)
	r.hooks.background = teamhooks.NewBackground(store, r.clock, r.loop.Poke, r.tell)
	r.trust = trust.NewGuard(o.place, j.Warn)
	r.hooks.policies = newPolicies(o, r)
	r.hooks.reload = newReloader(o, r)
	if r.holds, err = newHolds(ctx, r); err != nil {
		return nil, err
	}
	r.crew = newCrew(o, r)
	r.notices = newNotices(o, r)
	return r, nil
}

// newCrew returns the crew of a team whose other parts exist.
func newCrew(o *Orchestrator, r *rooms) *crew.Crew {
	return crew.New(crew.Deps{
		Team: o.team, Store: r.store, Journal: r.journal, Place: o.place, Short: r.short, Bus: r.bus, Processes: r.processes,
		Log: r.log, Clock: r.clock, Loop: r.loop, Group: &r.group, Seats: &r.seats, Board: r.board,
		Programs: r.programs, Hooks: r.hooks.background, Logins: r.logins, Ledger: r.usage.ledger, Notices: &r.usage.notices,
		Writes: r.work.Writes, Merges: r.work.Merges, State: r.state, Watch: &r.watch, Asks: r.asks,
		Holds: r.holds, Notes: r.notes, Purpose: purposeOf(o, r), Parts: r.parts(o.drafts), MakeOccupant: seatBuilder{o, r}.makeOccupant,
		StaysUp: func() bool { return o.staysUp() || r.times.Awaits(r.seats.TakesTurns) },
	})
}

// parts returns the features of a team in the order in which the crew tells them of its members
// and their events. A limit of the ledger outweighs a lockout, and calls that ask end before the
// inbox.
func (r *rooms) parts(d *members.Drafts) []crew.Part {
	return []crew.Part{
		r.programs, r.usage.ledger, r.logins, r.hooks.background, r.notes, r.work.Writes, d, // most of these complete events
		&r.usage.notices, &r.usage.shares, &r.watch, r.times,
		&r.hooks.live, r.holds, r.tools, r.asks, r.work.Merges, r.work.Trees, r.templates,
	}
}

// newHolds reads the holds. A change is journaled and pokes the crew's loop.
func newHolds(ctx context.Context, r *rooms) (*members.Holds, error) {
	return members.OpenHolds(ctx, r.store, r.clock, func(member string, e events.Data) {
		r.tell(member, e)
		r.loop.Poke()
	})
}

// tell reports an event of a member in its turn, or of the team.
func (r *rooms) tell(member string, e events.Data) {
	r.journal.Append(events.Event{Member: member, Turn: r.seats.Turn(member), Data: e})
}

// dismiss closes what members had open, in reverse order of opening, after all of them
// have ended: tools end before the transcript that their output goes into.
func (r *rooms) dismiss() {
	defer r.work.Trees.Close()
	r.tools.Close()
	defer r.programs.Close()
	if err := r.around.files.Close(); err != nil {
		r.log.Error("closing the watch over files", "err", err)
	}
	r.servers.Close()
	for _, s := range r.seats.All() {
		s.Close(r.log)
	}
}
