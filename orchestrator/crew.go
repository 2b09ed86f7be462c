package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
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
	journal   *journal
	short     *shortage // notes that members have failed on a full disk
	bus       *bus.Bus
	processes *Processes
	log       *slog.Logger
	keep      bool
	seating   seating
	poked     chan struct{}
	orders    chan order    // what others want done in the loop
	over      chan struct{} // closed when the loop has ended
	// settle sees to seats that were given up, and let lets a member begin. Both are
	// fixed before the loop begins.
	settle    func(context.Context) error
	let       func(*seat)
	down      chan string // why somebody told the team to stop
	members   sync.WaitGroup
	board     *board
	control   *control
	tools     toolServer // for members whose agents are programs of their own
	models    modelServer
	live      liveHooks
	reload    *reloader
	around    surroundings
	trees     *trees          // nil before anybody is hired
	setup     Setup           // what Setup hooks are to do
	setupOnly bool            // and nothing after it
	mergeOnly *MergeRequest   // to be merged, and nothing else; nil: the run is one of all members
	servers   *hookServers    // of mcp_tool hooks
	functions *hooks.Registry // the program's hooks, and those that agents register while they run
	team      string
	goal      string // set by setGoal, read by worksFor
	pid       int
	up        chan struct{} // closed once every member has begun its session
	clock     clock
	times     timetable // of the schedules
	slots     allotment
	ledger    *ledger
	agents    func(configs.Agent) []configs.Agent // one, and those it may be followed by; nil: no others
	asks      *inbox                              // nil: nobody asks anybody
	merges    *mergeDesk                          // nil: there is nothing to merge
	writes    *sharedWrites                       // nil: nobody has begun

	// completeOnPass says whether tasks in progress are completed when a turn end passes
	// its gates, as the spec has it by then; nil: they are not.
	completeOnPass func() bool

	mu       sync.Mutex // guards what seats say it guards, and the fields below
	told     string
	reported string
	noted    bool                // a note for the lead waits that is worth a turn
	digests  int                 // turns in a row that it got for notes alone
	owed     map[string]string   // mail that members are being given, by member
	resting  *move               // keep: the team is at rest for this reason
	waiting  string              // the wait for usage limits that was last told of
	begun    int                 // members that have begun their session, or never will
	first    int                 // members that the run began with
	falls    map[string]failures // of members in this run, by name
}

// poke makes the crew look at the team again. It never blocks.
func (c *crew) poke() {
	select {
	case c.poked <- struct{}{}:
	default:
	}
}

// seat finds a member.
func (c *crew) seat(name string) (*seat, bool) {
	seats := c.seats()
	i := slices.IndexFunc(seats, func(s *seat) bool { return s.member.Name == name })
	if i < 0 {
		return nil, false
	}
	return seats[i], true
}

// run takes the team through its work. It returns why the team came to rest,
// or an error when ctx ended or the store failed. When it returns, no member
// runs any more.
func (c *crew) run(ctx context.Context) (move, error) {
	if err := c.recall(ctx); err != nil {
		return move{}, err
	}
	c.allotSeats()
	woken, err := c.bus.OnWake(func(string) { c.poke() })
	if err != nil {
		return move{}, err
	}
	defer woken.Close()
	// Members that wait for a journal that cannot be written could not end.
	defer context.AfterFunc(ctx, c.journal.hurry)()
	if err := c.setUp(ctx); err != nil {
		return move{}, err
	}
	closeInbox, err := c.asks.begin(ctx)
	if err != nil {
		return move{}, err
	}
	defer closeInbox()
	if c.mergeOnly != nil {
		return c.atMerge(ctx)
	}
	mctx, cancel := context.WithCancelCause(ctx)
	c.let = func(s *seat) { c.members.Go(func() { c.serve(mctx, s) }) }
	c.first = len(c.seats())
	c.trees.report()
	for _, s := range c.seats() {
		c.enter(s)
	}
	c.members.Go(func() { c.merges.serve(mctx) })
	rest := c.watchOver(mctx)
	end, err := c.direct(ctx)
	rest()
	c.merges.close()
	close(c.over)
	// Members that wait for work go home; who is in a turn finishes it, unless the
	// context has ended.
	for _, s := range c.seats() {
		close(s.work)
	}
	if err != nil {
		cancel(err)
	}
	c.members.Wait()
	c.endErrands(ctx)
	c.tools.close() // what it runs tells the journal, which ends after the crew
	cancel(nil)
	return end, err
}

// begin counts a member as having begun its session.
func (c *crew) begin(s *seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.sessionBegun {
		return
	}
	s.sessionBegun = true
	if s.late {
		return // the team was up without it
	}
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
	return errors.Join(c.recallNotes(ctx), c.recallLockouts(ctx))
}

// direct is the crew's loop.
func (c *crew) direct(ctx context.Context) (move, error) {
	if c.setupOnly {
		return c.atSetup(ctx)
	}
	for {
		if err := errors.Join(c.heedClock(ctx), c.keepSchedules(ctx), c.settle(ctx)); err != nil {
			return move{}, err
		}
		s, err := c.scene(ctx)
		if err != nil {
			return move{}, err
		}
		c.hurryOn(s.Seats)
		moves := plan(s)
		c.owing(s, moves)
		for _, m := range moves {
			if m.Kind == finish && (!c.keep || m.Limit) {
				c.announce(ctx, m)
				return m, nil
			}
			if err := c.carryOut(ctx, m); err != nil {
				return move{}, err
			}
		}
		c.owing(s, nil)
		// One poke may stand for many changes: the scene is taken anew each time, so
		// none of them is missed.
		select {
		case <-c.poked:
		case <-c.nextRetry(s.Seats):
		case <-c.nextSchedule():
		case <-c.nextUse():
		case o := <-c.orders:
			o.done <- o.do(ctx)
		case <-ctx.Done():
			return move{}, context.Cause(ctx)
		}
	}
}

// scene takes a snapshot. Who is idle is read first: what a member did before
// it went idle is committed by then, so a team never looks more at rest than
// it is.
func (c *crew) scene(ctx context.Context) (scene, error) {
	s := scene{Broke: c.ledger.broke(), AtLimit: c.ledger.onLimit() == configs.StopAtLimit}
	now := c.now()
	c.mu.Lock()
	s.Told, s.Reports, s.Noted, s.Digests = c.told, c.reported, c.noted, c.digests
	for _, m := range c.seats() {
		s.Seats = append(s.Seats, m.view(now))
	}
	c.lend(s.Seats)
	c.mu.Unlock()
	s.Free = c.freeSlots()
	// Before the mail is read: an answer that closes a question in between is mail by
	// then.
	c.asks.view(s.Seats)
	var err error
	if s.Tasks, err = c.store.List(ctx); err != nil {
		return s, err
	}
	s.Merging = c.merges.merging(s.Tasks)
	c.comfort(&s)
	for i, m := range s.Seats {
		if !m.Idle || m.Gone {
			continue
		}
		if s.Seats[i].Unread, err = c.store.Unread(ctx, m.Name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// comfort takes the attention from members whose trouble has gone: the tasks
// that they did not get on with have been changed by somebody since.
// Without it a member would stay in trouble over a task that has long been
// somebody else's, and the team would end unfinished though all is done.
func (c *crew) comfort(s *scene) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range c.seats() {
		if m.stuckOn != "" && m.stuckOn != fingerprint(actable(s.Tasks, m.member.Name)) {
			m.attention, m.stuckOn = "", ""
			s.Seats[i].Attention = ""
		}
		if m.spent && s.Seats[i].Spent == "" { // its limit was raised
			m.attention, m.limited, m.spent = "", false, false
			s.Seats[i].Attention = ""
		}
	}
}

// carryOut does one thing that plan asked for.
func (c *crew) carryOut(ctx context.Context, m move) error {
	s, ok := c.seat(m.Member)
	if !ok && m.Member != "" {
		return fmt.Errorf("%s: %w", m.Member, ErrNoMember)
	}
	switch m.Kind {
	case giveMail:
		return c.handMail(ctx, s)
	case giveGoOn:
		return c.handOn(ctx, s)
	case giveNotes:
		return c.handNotes(ctx, s)
	case waitLimit:
		c.waitFor(m)
	case giveClaim:
		return c.handClaim(ctx, s, m.Tasks[0])
	case giveQuestions:
		return c.handQuestions(s, m.Mark)
	case giveNudge:
		return c.hand(s, teammate.Work{Cause: teammate.ByNudge, Inputs: []teammate.Input{
			{Kind: teammate.FromCovey, Text: tongueOf(s.agent()).nudgeText(m.Tasks)},
		}}, m.Mark)
	case attention:
		c.mu.Lock()
		s.stuckOn = fingerprint(m.Tasks)
		c.mu.Unlock()
		return c.giveUpOn(ctx, s, m.Reason)
	case giveLast:
		return c.handLast(s)
	case giveUp:
		c.mu.Lock()
		s.limited, s.spent = true, true
		c.mu.Unlock()
		return c.giveUpOn(ctx, s, m.Reason)
	case tellLead:
		return c.note(ctx, keyTold, m.Mark, tellText(m))
	case askReport:
		return c.askForReport(ctx, m.Mark)
	case finish:
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

// handMail gives an idle member all its mail as one prompt.
func (c *crew) handMail(ctx context.Context, s *seat) error {
	mail, err := c.store.Unread(ctx, s.member.Name)
	if err != nil {
		return err
	}
	in, err := s.read(ctx, mail)
	if err != nil {
		return err
	}
	if len(in) == 0 {
		c.poke() // all of it was moot: look again
		return nil
	}
	return c.hand(s, teammate.Work{Cause: causeOf(mail), Inputs: in}, "")
}

// handClaim claims a ready task for an idle member. If somebody was faster,
// the next look finds it something else.
func (c *crew) handClaim(ctx context.Context, s *seat, t tasks.Task) error {
	by := tasks.Actor{Name: s.member.Name, Session: s.session.Epoch}
	terms := c.board.terms.of(s.member.Name)
	t, err := c.store.Claim(ctx, by, t.ID, tasks.Claim{Member: s.member.Name, Max: terms.Max, Skills: terms.Skills})
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, tasks.ErrDisk) || errors.Is(err, tasks.ErrClosed) {
			return err
		}
		c.poke()
		return nil
	}
	return c.hand(s, teammate.Work{Cause: teammate.ByTask, Inputs: []teammate.Input{
		{Kind: teammate.FromTask, Text: tongueOf(s.agent()).claimText(t)},
	}}, "")
}

// hand gives an idle member work. mark is set for a nudge, which is counted under
// it; any other work starts all counts again.
func (c *crew) hand(s *seat, w teammate.Work, mark string) error {
	c.reseat(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.spent = false
	// Any other work means that something happened, so reminders count anew.
	if mark == "" {
		s.nudged = nil
	} else {
		s.nudged = maps.Clone(s.nudged) // what plan has been given is its own
		if s.nudged == nil {
			s.nudged = map[string]int{}
		}
		s.nudged[mark]++
	}
	if s.lead {
		c.digests = 0
	}
	s.idle, s.attention, s.stuckOn, s.limited, c.resting, c.waiting = false, "", "", false, nil, ""
	c.asks.note() // it may have needed attention
	s.work <- w   // never blocks: the member was idle, so the one place is free
	return nil
}

// note puts a notice into the lead's mailbox once per mark.
func (c *crew) note(ctx context.Context, key, mark, text string) error {
	by := tasks.Actor{CallID: onceID(key, mark)}
	out := tasks.Outgoing{
		To: []string{c.seats()[0].member.Name}, Kind: tasks.Notice, Text: text, Summary: preview(firstLine(text)),
	}
	if _, err := c.store.Send(ctx, by, out); err != nil {
		return err
	}
	// The notice comes first: a crash in between sends it again under the same call
	// id, which does nothing, while the other order could lose it.
	if err := c.store.Put(ctx, key, raw(mark)); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key == keyTold {
		c.told = mark
	} else {
		c.reported = mark
	}
	c.poke()
	return nil
}

// askForReport lists what was done once more, because the lead may have forgotten
// it, or begun anew since.
func (c *crew) askForReport(ctx context.Context, mark string) error {
	all, err := c.store.List(ctx)
	if err != nil {
		return err
	}
	return c.note(ctx, keyReported, mark, reportText(all))
}

// setIdle says that a member waits for work.
func (c *crew) setIdle(s *seat) {
	c.mu.Lock()
	s.idle = !s.relieved // who is to leave gets nothing more
	c.mu.Unlock()
	c.poke()
}

// tellLeadOf puts what happened to a member into the lead's mailbox, unless it
// happened to the lead itself.
// It is sent without a call id: the same thing may happen again.
func (c *crew) tellLeadOf(ctx context.Context, s *seat, text string) error {
	if s.lead {
		return nil
	}
	_, err := c.store.Send(ctx, tasks.Actor{}, tasks.Outgoing{
		To: []string{c.seats()[0].member.Name}, Kind: tasks.Notice, Text: text, Summary: preview(firstLine(text)),
	})
	return err
}

// needsAttention marks a member that only a person, or mail, can help on.
func (c *crew) needsAttention(ctx context.Context, s *seat, reason string) error {
	c.mu.Lock()
	s.attention = reason
	c.mu.Unlock()
	c.poke()
	return errors.Join(c.troubled(ctx, s, reason),
		c.tellLeadOf(ctx, s, fmt.Sprintf("Teammate %s needs attention: %s", s.member.Name, reason)))
}

// giveUpOn is needsAttention for a member that does not know it itself: the
// journal and the Notification hooks are told as well.
func (c *crew) giveUpOn(ctx context.Context, s *seat, reason string) error {
	n := hooks.NotificationInput{
		Message: s.member.Name + " needs attention: " + reason, NotificationType: "agent_needs_input",
	}
	turn := s.turn()
	c.journal.sink(teammate.Event{Member: s.member.Name, Turn: turn, Data: teammate.NeedsAttention{Reason: reason}})
	c.journal.sink(teammate.Event{
		Member: s.member.Name, Turn: turn, Data: teammate.Notified{Kind: n.NotificationType, Message: n.Message},
	})
	// The hooks may take long, and the crew must not wait: other members have work.
	c.members.Go(func() {
		if _, err := s.mate.Fire(ctx, n); err != nil && ctx.Err() == nil {
			c.log.Warn("Notification hooks", "member", s.member.Name, "err", err)
		}
	})
	return c.needsAttention(ctx, s, reason)
}
