package orchestrator

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/api"
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
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/tasks"
)

// crew makes the members take turns. One goroutine, run, looks at the team
// after every change, asks plan what is to be done, and does it; each member
// has a goroutine of its own.
type crew struct {
	store     *tasks.Store
	journal   *journal.Journal
	short     *state.Shortage // notes that members have failed on a full disk
	bus       *bus.Bus
	processes *process.Processes
	log       *slog.Logger
	keep      bool
	seating   seating
	loop      *routine.Loop
	let       func(*seat) // lets a member begin; fixed before the loop begins
	members   routine.Group
	board     *teamtools.Board
	control   *api.Server
	tools     *mcp.Server // for members whose agents are programs of their own
	programs  *launch.Programs
	hooks     teamHooks
	trust     *trust.Guard
	around    surroundings
	only      part // what the run is for
	team      string
	opening   *lives.Opening // of all members' sessions
	clock     routine.Clock
	times     *schedule.Timetable
	logins    *login.Logins
	accounts  accounts
	work      work
	watch     lives.Watch
	asks      *inbox.Inbox
	holds     *lives.Holds
	goals     *specs.Goals
	notes     *teamtools.Notes
	restarts  lives.Restarts
}

// teamHooks are the hooks of a team, and what runs them.
type teamHooks struct {
	live       hooking.Live
	background *hooking.Background
	reload     *hooking.Reloader
	settings   hooking.GateSettings // that gates go by
	servers    *hooking.Servers     // of mcp_tool hooks
	policies   *hooking.Policies
	functions  *hooks.Registry // the program's hooks, and those that agents register while they run
}

// accounts are what members and the team have used and may use.
type accounts struct {
	ledger  *budget.Ledger
	tally   budget.Tally
	notices budget.Notices
}

// work is where members work, what they write there, and how it comes together.
type work struct {
	trees  *trees.Trees
	writes *owned.Writes
	merges *merging.Desk
}

// run takes the team through its work. settle sees to seats that members have left. It returns why the team came to rest,
// or an error when ctx ended or the store failed. When it returns, no member
// runs any more.
func (c *crew) run(ctx context.Context, settle func(context.Context) error) (plan.Move, error) {
	defer c.loop.Close() // also if it never begins: somebody may wait for it
	d := &director{c: c, settle: settle}
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
	if err := c.setUp(ctx); err != nil {
		return plan.Move{}, err
	}
	closeInbox, err := c.asks.Begin(ctx)
	if err != nil {
		return plan.Move{}, err
	}
	defer closeInbox()
	if c.only.merge != nil {
		return c.atMerge(ctx)
	}
	mctx, cancel := context.WithCancelCause(ctx)
	c.let = func(s *seat) { c.members.Go(func() { c.serve(mctx, s) }) }
	c.opening.Expect(len(c.seating.all()))
	c.work.trees.Begin()
	c.reportHolds()
	for _, s := range c.seating.all() {
		c.enter(s)
		// Who has nothing to begin with is at rest before the next one comes, and leaves
		// it its goroutine.
		runtime.Gosched()
	}
	c.members.Go(func() { c.work.merges.Serve(mctx) })
	rest := watchdog{c}.watchOver(mctx)
	end, err := d.direct(ctx)
	rest()
	c.work.merges.Close()
	c.loop.Close()
	// Members that wait for work go home; who is in a turn finishes it, unless the
	// context has ended.
	for _, s := range c.seating.all() {
		s.life.SendHome()
	}
	if err != nil {
		cancel(err)
	}
	c.members.Wait()
	c.hooks.live.EndAll(ctx)
	c.tools.Close() // what it runs tells the journal, which ends after the crew
	cancel(nil)
	return end, err
}

// begin counts a member as having begun its session.
func (c *crew) begin(s *seat) {
	if s.life.Begin() && !s.late { // the team was up without a late one
		c.opening.Begun()
	}
}
