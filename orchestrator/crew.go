package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/clock"
	"github.com/coveyteam/covey/orchestrator/gang"
	"github.com/coveyteam/covey/orchestrator/goals"
	"github.com/coveyteam/covey/orchestrator/holds"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/login"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/notes"
	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/schedule"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/watch"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Keys of the store under which the crew remembers what it must not say twice.
const (
	keyTold     = "told"     // the impasse that the lead was last told of
	keyReported = "reported" // the finished list that the lead reported on
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
	loop      *gang.Loop
	// settle sees to seats that were given up, and let lets a member begin. Both are
	// fixed before the loop begins.
	settle     func(context.Context) error
	let        func(*seat)
	down       chan string // why somebody told the team to stop
	members    gang.Group
	board      *teamtools.Board
	lister     teammate.TaskLister // of all members
	control    *api.Server
	tools      *mcp.Server // for members whose agents are programs of their own
	programs   *launch.Programs
	live       hooking.Live
	background *hooking.Background
	reload     *hooking.Reloader
	trust      *trust.Guard
	around     surroundings
	trees      *trees.Trees
	setup      Setup                // what Setup hooks are to do
	only       part                 // what the run is for
	settings   hooking.GateSettings // that gates go by
	servers    *hooking.Servers     // of mcp_tool hooks
	policies   *hooking.Policies
	functions  *hooks.Registry // the program's hooks, and those that agents register while they run
	team       string
	pid        int
	up         chan struct{} // closed once every member has begun its session
	clock      clock.Clock
	times      *schedule.Timetable
	logins     *login.Logins
	ledger     *budget.Ledger
	tally      budget.Tally
	notices    budget.Notices
	watch      watch.Watch
	asks       *inbox.Inbox
	merges     *merging.Desk
	writes     *owned.Writes
	holds      *holds.Holds
	goals      *goals.Goals
	notes      *notes.Notes
	restarts   lives.Restarts

	mu       sync.Mutex // guards what seats say it guards, and the fields below
	told     string
	reported string
	resting  *plan.Move // keep: the team is at rest for this reason
	begun    int        // members that have begun their session, or never will
	first    int        // members that the run began with
}

// run takes the team through its work. It returns why the team came to rest,
// or an error when ctx ended or the store failed. When it returns, no member
// runs any more.
func (c *crew) run(ctx context.Context) (plan.Move, error) {
	if err := c.recall(ctx); err != nil {
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
	c.first = len(c.seats())
	c.trees.Begin()
	c.reportHolds()
	for _, s := range c.seats() {
		c.enter(s)
		// Who has nothing to begin with is at rest before the next one comes, and leaves
		// it its goroutine.
		runtime.Gosched()
	}
	c.members.Go(func() { c.merges.Serve(mctx) })
	rest := c.watchOver(mctx)
	end, err := c.direct(ctx)
	rest()
	c.merges.Close()
	c.loop.Close()
	// Members that wait for work go home; who is in a turn finishes it, unless the
	// context has ended.
	for _, s := range c.seats() {
		s.life.SendHome()
	}
	if err != nil {
		cancel(err)
	}
	c.members.Wait()
	c.live.EndAll(ctx)
	c.tools.Close() // what it runs tells the journal, which ends after the crew
	cancel(nil)
	return end, err
}

// begin counts a member as having begun its session.
func (c *crew) begin(s *seat) {
	if !s.life.Begin() || s.late { // the team was up without a late one
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun++; c.begun == c.first {
		close(c.up)
	}
}

// recall reads what an earlier run has told and been told.
func (c *crew) recall(ctx context.Context) error {
	for key, into := range map[string]*string{keyTold: &c.told, keyReported: &c.reported} {
		value, ok, err := c.store.Value(ctx, key)
		if err != nil {
			return err
		}
		if ok {
			if err := json.Unmarshal(value, into); err != nil {
				return fmt.Errorf("read %q of the store: %w", key, err)
			}
		}
	}
	return errors.Join(c.notes.Recall(ctx), c.recallLogins(ctx))
}

// direct is the crew's loop.
func (c *crew) direct(ctx context.Context) (plan.Move, error) {
	if c.only.setup {
		return c.atSetup(ctx)
	}
	for {
		if err := errors.Join(c.ledger.HeedClock(ctx), c.times.Run(ctx), c.settle(ctx)); err != nil {
			return plan.Move{}, err
		}
		s, moves, err := c.round(ctx)
		if err != nil {
			return plan.Move{}, err
		}
		for _, m := range moves {
			if m.Kind == plan.Finish && (!c.keep || m.Limit) {
				c.announce(ctx, m)
				return m, nil
			}
			if err := c.carryOut(ctx, m); err != nil {
				return plan.Move{}, err
			}
		}
		c.watch.Owe(s, nil)
		// One poke may stand for many changes: the scene is taken anew each time, so
		// none of them is missed.
		select {
		case <-c.loop.Poked():
		case <-c.nextRetry(s.Seats):
		case <-c.times.Wait():
		case <-c.ledger.Next():
		case order := <-c.loop.Orders():
			order.Do(ctx)
		case <-ctx.Done():
			return plan.Move{}, context.Cause(ctx)
		}
	}
}

// round looks at the team once and decides what is to be done. Its time must grow with the
// team and not faster: the loop comes here after every change.
func (c *crew) round(ctx context.Context) (plan.Scene, []plan.Move, error) {
	s, err := c.scene(ctx)
	if err != nil {
		return s, nil, err
	}
	c.hurryOn(s.Seats)
	moves := plan.Next(s)
	c.watch.Owe(s, moves)
	return s, moves, nil
}

// scene takes a snapshot. Who is idle is read first: what a member did before
// it went idle is committed by then, so a team never looks more at rest than
// it is.
func (c *crew) scene(ctx context.Context) (plan.Scene, error) {
	s := plan.Scene{Broke: c.ledger.Broke(), AtLimit: c.ledger.OnLimit() == configs.StopAtLimit}
	c.mu.Lock()
	s.Told, s.Reports = c.told, c.reported
	seats := c.seats()
	s.Seats = make([]plan.Seat, len(seats))
	for i, m := range seats {
		s.Seats[i] = m.view()
	}
	c.logins.Look(s.Seats, func(i int) *roster.Member { return seats[i].member })
	c.mu.Unlock()
	s.Noted, s.Digests = c.notes.Waits()
	s.Free = c.logins.Free()
	// Before the mail is read: an answer that closes a question in between is mail by
	// then.
	c.asks.View(s.Seats)
	s.Asked = c.asks.Pending()
	var err error
	if s.Tasks, err = c.store.List(ctx); err != nil {
		return s, err
	}
	s.Merging = c.merges.OnWay(s.Tasks)
	c.asks.Attention.ClearSolved(&s, c.ledger.Raised)
	if err := c.board.ViewMail(ctx, s.Seats); err != nil {
		return s, err
	}
	viewHolds(c.holds, s.Seats)
	return s, nil
}

// carryOut does one thing that plan asked for.
func (c *crew) carryOut(ctx context.Context, m plan.Move) error {
	s, ok := c.seat(m.Member)
	if !ok && m.Member != "" {
		return fmt.Errorf("%s: %w", m.Member, api.ErrNoMember)
	}
	switch m.Kind {
	case plan.GiveMail:
		return c.handMail(ctx, s)
	case plan.GiveGoOn:
		return c.handOn(ctx, s)
	case plan.GiveNotes:
		return c.handNotes(ctx, s)
	case plan.WaitLimit:
		c.logins.TellOfWait(m.Mark, journal.TeamWaits{Until: m.Until, Members: m.Names})
	case plan.GiveClaim:
		return c.handClaim(ctx, s, m.Tasks[0])
	case plan.GiveQuestions:
		return c.handQuestions(ctx, s, m.Mark)
	case plan.GiveNudge:
		return c.hand(s, teammate.Work{Cause: agent.ByNudge, Inputs: []agent.Input{
			{Kind: agent.FromCovey, Text: teamtools.NamesFor(s.member.CurrentAgent()).NudgeText(m.Tasks)},
		}}, m.Mark)
	case plan.NeedAttention:
		c.asks.Attention.Stuck(s.member.Name, plan.Fingerprint(m.Tasks))
		return c.giveUpOn(ctx, s, m.Reason)
	case plan.GiveLast:
		return c.handLast(s)
	case plan.GiveUp:
		c.ledger.GiveUp(s.member.Name)
		return c.giveUpOn(ctx, s, m.Reason)
	case plan.TellLead:
		return c.note(ctx, keyTold, m.Mark, plan.TellText(m))
	case plan.AskReport:
		return c.askForReport(ctx, m.Mark)
	case plan.Finish:
		c.mu.Lock()
		before := c.resting
		c.resting = &m
		c.mu.Unlock()
		if before == nil {
			c.announce(ctx, m)
		}
	}
	return nil
}
