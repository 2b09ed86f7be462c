// Package crew runs the members of a team: a loop that gives idle members their work, and
// each member's life in its seat, from the start of its session until it leaves.
//
// New takes everything that a crew needs as Deps. Run starts the members and returns
// when the team has nothing more to do, its context ends or the store fails. No member
// runs any more when it returns.
//
// One goroutine directs the team: after each change it takes a snapshot of the store,
// asks plan.Next for moves, and carries them out. Each member has its own goroutine,
// which starts the session, takes the turns that the director puts into the seat, and
// restarts after a failure as the member's restart policy allows. A Seat holds a member's
// state in this run; what outlives the run is in the store.
//
// The package makes no promise of compatibility to programs outside covey.
package crew

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// Deps are the dependencies of a crew. All must be set.
type Deps struct {
	Team       func() *configs.Team // the current spec
	Store      *tasks.Store
	Journal    *state.Journal
	Place      state.Place
	Short      *state.Shortage // records full-disk errors of members
	Bus        *bus.Bus
	Processes  *process.Processes
	Log        *slog.Logger
	Clock      members.Clock
	Loop       *members.Loop
	Stalled    func() bool    // reports that nothing may begin now, because it could not be stored; nil: never
	Group      *members.Group // goroutines that finish waits for
	Seats      *Seats
	Board      *teamtools.TaskAPI
	Programs   *launch.Programs
	Background *teamhooks.Background
	Logins     *accounts.Logins
	Ledger     *accounts.Ledger
	Notices    *accounts.Notices
	Merges     *merging.Merger
	State      *view.Live // what the members do and have done
	Watch      *members.Watch
	Asks       *inbox.Inbox
	Holds      *members.Holds
	Notes      *teamtools.Notes
	Parts      []Part      // the features of the team, in the order in which they are told
	StaysUp    func() bool // whether the team stays up when all is done
	Hosts      bool        // another host leads the team: only its lead gets a seat with SeatAll
	// Lane returns where what a member is shown is recorded, or the lane of a replay; nil: there is none.
	Lane func(*members.Member) (*recordings.Lane, error)
}

// Crew makes the members take turns. The goroutine of Run directs the team; each member
// has its own goroutine.
type Crew struct {
	deps       Deps
	occupy     Occupy
	up         chan struct{} // see Up
	expected   atomic.Int64  // how many members still delay Up
	restarts   members.Restarts
	timers     []Timer
	describers []Describer
	completers []Completer
	watchers   []Watcher
}

// Occupy makes who works at a seat. The seat has everything else; its sink, mailbox and tools
// must not be used before Occupy returns.
type Occupy func(context.Context, *Seat) (Occupant, error)

// New returns a crew without members.
func New(p Deps, occupy Occupy) *Crew {
	return &Crew{
		deps: p, occupy: occupy, up: make(chan struct{}), timers: partsOf[Timer](p.Parts), describers: partsOf[Describer](p.Parts),
		completers: partsOf[Completer](p.Parts), watchers: partsOf[Watcher](p.Parts),
	}
}

// Up returns a channel that is closed once every member has begun its session or cannot
// begin.
func (c *Crew) Up() <-chan struct{} { return c.up }

// Run directs the team for a purpose until it comes to rest. It returns why the team rests, or an error
// if ctx ended or the store failed. When it returns, no member runs.
//
// The mail of the bus is subscribed to before the first round, so that no message after the
// first snapshot is missed. The members have a context of their own, which an error of
// the loop ends, too; ctx remains the caller's.
func (c *Crew) Run(ctx context.Context, purpose Purpose) (plan.Move, error) {
	defer c.deps.Loop.Close() // also after an early error, because EndMember may wait for it
	d := &director{c: c, purpose: purpose}
	if err := d.recall(ctx); err != nil {
		return plan.Move{}, err
	}
	mail, err := c.deps.Bus.OnMail(c.receive, c.deps.Loop.Poke)
	if err != nil {
		return plan.Move{}, fmt.Errorf("listen to mail: %w", err)
	}
	defer mail.Close()
	// Otherwise members that wait for a journal that cannot be written could not end.
	defer context.AfterFunc(ctx, c.deps.Journal.Hurry)()
	mctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end, err := c.work(ctx, mctx, d)
	if err != nil {
		cancel(err)
	}
	// This is not deferred: a panic ends the process with its trace and waits for nobody.
	c.finish(ctx)
	cancel(nil)
	return end, err
}

// work does what the run is for, until the team comes to rest. mctx is the context of the
// members.
func (c *Crew) work(ctx, mctx context.Context, d *director) (end plan.Move, err error) {
	if err := d.setUp(ctx); err != nil {
		return end, err
	}
	if err := tell(c, func(p Starter) error { return p.Begin(ctx) }); err != nil {
		return end, err
	}
	// After the parts have begun, because they act on answers.
	if err := c.deps.Asks.TakeUp(ctx, c.answered); err != nil {
		return end, err
	}
	if d.purpose.Merge != nil {
		return d.atMerge(ctx)
	}
	if d.purpose.Decide != nil {
		return d.atDecide(ctx)
	}
	if d.purpose.Host != nil {
		return d.atHost(mctx)
	}
	c.expected.Store(int64(len(c.deps.Seats.All())))
	for _, s := range c.deps.Seats.All() {
		c.switchAgent(s) // an interrupted turn continues with its agent
		c.join(mctx, s)
		// Yield, so that an idle member's goroutine can be reused.
		runtime.Gosched()
	}
	c.deps.Group.Go(func() { c.deps.Merges.Serve(mctx) })
	rest := c.startWatchdog(mctx)
	end, err = d.direct(mctx)
	rest()
	c.deps.Loop.Close()
	// Members that wait for work end now; the others finish their turn first, unless ctx
	// has ended.
	for _, s := range c.deps.Seats.All() {
		s.Life.EndWork()
	}
	return end, err
}

// finish ends everything that the crew has started, whatever Run returns, and waits for
// it.
//
// Group.Wait comes first: members and the goroutines that they started may still use hooks
// and tools, which end after it. It is called after work has returned, in the goroutine of
// Run.
func (c *Crew) finish(ctx context.Context) {
	c.deps.Loop.Close()
	c.deps.Group.Wait()
	var ending sync.WaitGroup
	for _, s := range c.deps.Seats.All() { // while the journal and the transcripts can still record it
		for _, set := range s.sets() {
			ending.Go(set.EndRuns)
		}
	}
	ending.Wait()
	if err := tell(c, func(p Ender) error { return p.Ended(ctx) }); err != nil {
		c.deps.Log.Error("the end of a part of the team", "err", err)
	}
}

// begin counts a member's session as begun.
func (c *Crew) begin(s *Seat) {
	if s.Life.Begin() && !s.late && c.expected.Add(-1) == 0 { // nobody waits for late members
		close(c.up)
	}
}
