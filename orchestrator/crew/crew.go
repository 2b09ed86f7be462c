// Package crew runs the members of a team: a loop that looks at the team after every change and
// gives idle members their work, and each member's life in its seat, from its session's
// beginning to its leaving.
//
// New takes everything that a crew needs as Ports. Run lets the members begin and returns
// when the team has nothing more to do, its context ends or the store fails. No member
// runs any more when it returns.
//
// One goroutine directs the team: after each change it takes a snapshot of the store, asks
// plan.Next what is to be done, and does it. Each member has a goroutine of its own, which
// begins the member's session, takes the turns that the director puts into its seat, and
// begins anew after a failure as often as the member's restart policy allows. A Seat knows
// what is true of a member in this run; what outlives the run is in the store.
//
// The package makes no promise of compatibility to programs outside covey.
package crew

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/login"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/schedule"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks"
)

// Ports are what a crew works with. All must be set.
type Ports struct {
	Team      func() *configs.Team // the spec that counts now
	Store     *tasks.Store
	Journal   *journal.Journal
	Short     *state.Shortage // notes that members have failed on a full disk
	Bus       *bus.Bus
	Processes *process.Processes
	Log       *slog.Logger
	Clock     routine.Clock
	Loop      *routine.Loop
	Group     *routine.Group // goroutines that the end of the crew waits for
	Seats     *Seats
	Board     *teamtools.Board
	Tools     *mcp.Server // for members whose agents are programs of their own
	Programs  *launch.Programs
	Hooks     Hooks
	Times     *schedule.Timetable
	Logins    *login.Logins
	Accounts  Accounts
	Work      Work
	Watch     *lives.Watch
	Asks      *inbox.Inbox
	Holds     *lives.Holds
	Notes     *teamtools.Notes
	Purpose   Purpose
	StaysUp   func() bool // the team stays up when all is done, as the spec has it now
	// Outfit makes the teammate of a member that has a seat, and hands it over by
	// Seat.Fill.
	Outfit func(context.Context, *Seat) error
}

// Hooks are the hooks of a team that runs.
type Hooks struct {
	Live       *hooking.Live
	Background *hooking.Background
	Functions  *hooks.Registry // the program's hooks, and those that agents register while they run
}

// Accounts are what members and the team have used and may use.
type Accounts struct {
	Ledger  *budget.Ledger
	Tally   *budget.Tally
	Notices *budget.Notices
}

// Work is where members work, what they write there, and how it comes together.
type Work struct {
	Trees  *trees.Trees
	Writes *owned.Writes
	Merges *merging.Desk
}

// Crew makes the members take turns. One goroutine, Run, looks at the team
// after every change, asks plan what is to be done, and does it; each member
// has a goroutine of its own.
type Crew struct {
	team      func() *configs.Team
	store     *tasks.Store
	journal   *journal.Journal
	short     *state.Shortage
	bus       *bus.Bus
	processes *process.Processes
	log       *slog.Logger
	clock     routine.Clock
	loop      *routine.Loop
	group     *routine.Group
	seats     *Seats
	board     *teamtools.Board
	tools     *mcp.Server
	programs  *launch.Programs
	hooks     Hooks
	times     *schedule.Timetable
	logins    *login.Logins
	accounts  Accounts
	work      Work
	watch     *lives.Watch
	asks      *inbox.Inbox
	holds     *lives.Holds
	notes     *teamtools.Notes
	purpose   Purpose
	staysUp   func() bool
	outfit    func(context.Context, *Seat) error
	opening   *lives.Opening // of all members' sessions
	restarts  lives.Restarts
}

// New makes a crew that has no members yet.
func New(p Ports) *Crew {
	return &Crew{
		team: p.Team, store: p.Store, journal: p.Journal, short: p.Short, bus: p.Bus, processes: p.Processes,
		log: p.Log, clock: p.Clock, loop: p.Loop, group: p.Group, seats: p.Seats, board: p.Board, tools: p.Tools,
		programs: p.Programs, hooks: p.Hooks, times: p.Times, logins: p.Logins, accounts: p.Accounts, work: p.Work,
		watch: p.Watch, asks: p.Asks, holds: p.Holds, notes: p.Notes, purpose: p.Purpose, staysUp: p.StaysUp,
		outfit: p.Outfit, opening: lives.NewOpening(),
	}
}

// Up is closed once every member has begun its session, or is known never to begin.
func (c *Crew) Up() <-chan struct{} { return c.opening.Up() }

// Run takes the team through its work. It returns why the team came to rest,
// or an error when ctx ended or the store failed. When it returns, no member
// runs any more.
func (c *Crew) Run(ctx context.Context) (plan.Move, error) {
	defer c.loop.Close() // also if it never begins: somebody may wait for it
	d := &director{c: c}
	if err := d.recall(ctx); err != nil {
		return plan.Move{}, err
	}
	woken, err := c.bus.OnWake(func(string) { c.loop.Poke() })
	if err != nil {
		return plan.Move{}, err
	}
	defer woken.Close()
	// Members that wait for a journal that cannot be written could not end.
	defer context.AfterFunc(ctx, c.journal.Hurry)()
	closeInbox := func() {}
	defer func() { closeInbox() }() // after finish, because what that waits for may ask
	mctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // after finish, which cuts nothing off
	defer c.finish(ctx)
	if err := c.setUp(ctx); err != nil {
		return plan.Move{}, err
	}
	stop, err := c.asks.Begin(ctx)
	if err != nil {
		return plan.Move{}, err
	}
	closeInbox = stop
	if c.purpose.Merge != nil {
		return c.atMerge(ctx)
	}
	c.opening.Expect(len(c.seats.All()))
	c.work.Trees.Begin()
	c.reportHolds()
	for _, s := range c.seats.All() {
		c.enter(mctx, s)
		// Who has nothing to begin with is at rest before the next one comes, and leaves
		// it its goroutine.
		runtime.Gosched()
	}
	c.group.Go(func() { c.work.Merges.Serve(mctx) })
	rest := watchdog{c}.watchOver(mctx)
	end, err := d.direct(mctx)
	rest()
	c.work.Merges.Close()
	c.loop.Close()
	// Members that wait for work go home; who is in a turn finishes it, unless the
	// context has ended.
	for _, s := range c.seats.All() {
		s.Life.SendHome()
	}
	if err != nil {
		cancel(err)
	}
	return end, err
}

// finish ends what the crew has begun, whatever Run returns, and waits for it.
func (c *Crew) finish(ctx context.Context) {
	c.loop.Close()
	c.group.Wait()
	c.hooks.Live.EndAll(ctx)
	c.tools.Close() // what it runs tells the journal, which ends after the crew
}

// begin counts a member as having begun its session.
func (c *Crew) begin(s *Seat) {
	if s.Life.Begin() && !s.late { // the team was up without a late one
		c.opening.Begun()
	}
}
