// Package inbox has the questions that are open in a team: who waits for whose answer,
// when the time for it is up, and what is asked by the calls, the plans and the finished
// work of members. It is covey's own and makes no promise to other programs.
//
// A question is a record in the store until it is answered, so it outlives the process and
// the member that asked. Who may answer is decided here: a person, or the approver that
// the spec names. An answer counts once; a later one is refused with the first.
package inbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Inbox has a team's open questions (requests.Request). The questions themselves are in
// the store, and what stands here can be made of them again: so they survive what asked
// them. Its methods may be called from any goroutine.
//
// No question holds up the team for ever: each that somebody waits for has a deadline,
// and a default that holds from then on (TEAMS.md 6, row 7).
type Inbox struct {
	Attention *Attention
	Approvals *Approvals
	Plans     *PlanGate

	ports Ports
	onAsk configs.OnAsk
	limit time.Duration // how long a question may wait

	reminders reminders
	asides    asides

	mu      sync.Mutex
	open    questions
	due     map[string]time.Time // by id; of the clock that cannot be set
	changed chan struct{}        // closed and replaced whenever open changes
	poked   chan struct{}        // something may have changed that nobody looked at
	over    <-chan struct{}      // closed when the team ends; nil before it has begun
}

// Ports are what an Inbox needs of its team. The members are known by their names.
type Ports struct {
	Store *tasks.Store
	Clock routine.Clock
	Log   *slog.Logger
	// Changed is called when other questions may be open. The inbox holds its lock meanwhile:
	// Changed must not call it.
	Changed func()
	// Go runs something that the end of the team waits for. It returns false, and does
	// not run it, if the team has ended.
	Go func(func()) bool
	// Attached reports whether a person follows the team.
	Attached func() bool
	// Member finds a member that has a place in the team.
	Member func(name string) (*roster.Member, bool)
	// Gone returns why a member takes no more turns; empty: it does.
	Gone func(member string) string
	// Lend lends the place that a member has among those on its login to others. takeBack
	// waits for another one.
	Lend func(member string) (takeBack func(context.Context) error)
	// Notify tells people of a question of a member's that one of them is to answer.
	Notify func(ctx context.Context, member string, r requests.Request)
	// Closed does what follows from the answer to a request. It is called again after a
	// crash in between.
	Closed func(context.Context, requests.Request) error
	// Completer returns whose completion of a task the gates look at, and whether the
	// task is to be completed if they agree.
	Completer func(context.Context, hooks.Input) (who string, completes bool)
	// Lead returns the team's lead.
	Lead func() *roster.Member
	// Letters is where texts lie that are too long for a message.
	Letters mail.Folder
	// SetMode has a member that has begun work in a permission mode.
	SetMode func(member, mode string) error
	// Files returns git's name of the files that a member's work on a task is among;
	// empty: they are not its own.
	Files func(ctx context.Context, member string) (tree string, err error)
}

// defaultLimit is for teams that were made without a spec.
const defaultLimit = 10 * time.Minute

// New makes the inbox of a team. Begin opens it.
func New(team *configs.Team, ports Ports) *Inbox {
	b := &Inbox{
		ports: ports, onAsk: team.OnAsk, limit: cmp.Or(team.AskLimit, defaultLimit),
		reminders: reminders{store: ports.Store}, due: map[string]time.Time{},
		changed: make(chan struct{}), poked: make(chan struct{}, 1),
	}
	b.Attention = &Attention{inbox: b, members: map[string]trouble{}}
	b.Approvals = &Approvals{inbox: b}
	b.Plans = &PlanGate{inbox: b, approved: map[string]bool{}}
	return b
}

// Begin reads what earlier runs have left open, carries out what was answered
// and not acted on, and watches the deadlines until stop is called or ctx ends.
func (b *Inbox) Begin(ctx context.Context) (stop func(), err error) {
	b.mu.Lock()
	b.over = ctx.Done()
	b.mu.Unlock()
	if err := b.recall(ctx); err != nil {
		return nil, fmt.Errorf("the inbox: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { b.watch(ctx) })
	return func() {
		cancel()
		watching.Wait()
	}, nil
}

// recall brings the inbox to where the last run left it.
func (b *Inbox) recall(ctx context.Context) error {
	if err := b.reminders.recall(ctx); err != nil {
		return err
	}
	all, err := b.ports.Store.Requests().List(ctx)
	if err != nil {
		return fmt.Errorf("what earlier runs have asked: %w", err)
	}
	for _, r := range all {
		switch {
		// Trouble of an earlier run is looked at anew: the member begins afresh.
		case r.Open() && r.Kind == requests.AskAttention:
			_, err = b.ports.Store.Requests().Withdraw(ctx, actors.Actor{}, r.ID, "the team was started again")
		case !r.Open() && !r.Taken && settledAtOnce(r):
			err = b.settle(ctx, r)
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	if err := b.look(ctx); err != nil {
		return err
	}
	return b.dropStrangers(ctx)
}

// dropStrangers closes what was asked by and of members that the spec no longer has.
func (b *Inbox) dropStrangers(ctx context.Context) error {
	for _, r := range b.Open() {
		for _, name := range []string{r.Member, r.To} {
			if _, here := b.ports.Member(name); here || name == actors.Operator || name == "" {
				continue
			}
			if err := b.Leave(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// look takes in which questions are open now.
func (b *Inbox) look(ctx context.Context) error {
	// Under the lock, so that of two looks the later one is what stands here.
	b.mu.Lock()
	defer b.mu.Unlock()
	open, err := b.ports.Store.Requests().Open(ctx, "")
	if err != nil {
		return fmt.Errorf("what is open: %w", err)
	}
	due, now := map[string]time.Time{}, b.ports.Clock.Now()
	for _, r := range open {
		if at, known := b.due[r.ID]; known {
			due[r.ID] = at
		} else if !r.Deadline.IsZero() {
			due[r.ID] = now.Add(timeLeft(r, now))
		}
	}
	if !slices.EqualFunc(open, b.open.All, func(x, y requests.Request) bool { return x.ID == y.ID }) {
		close(b.changed)
		b.changed = make(chan struct{})
	}
	b.open, b.due = sort(open), due
	b.ports.Changed()
	return nil
}

// timeLeft is how long a question may still wait by the clock on the wall. That
// may have been set since, so it is never more than the question had.
func timeLeft(r requests.Request, now time.Time) time.Duration {
	return max(0, min(r.Deadline.Sub(now.Round(0)), r.Deadline.Sub(r.Created)))
}

// Recheck has the inbox look again at the open questions, without waiting for it:
// something may have changed that they are about.
func (b *Inbox) Recheck() { routine.Signal(b.poked) }

// watch lets the time of questions run out.
func (b *Inbox) watch(ctx context.Context) {
	for {
		var late <-chan time.Time
		id, wait := b.next()
		if id != "" {
			late = b.ports.Clock.After(wait)
		}
		select {
		case <-b.poked:
			b.fault(ctx, b.look(ctx))
			b.fault(ctx, b.Approvals.moot(ctx))
		case <-late:
			if wait == 0 { // else it is looked at again: waits are cut to a minute
				b.fault(ctx, b.expire(ctx, id))
			}
		case <-ctx.Done():
			return
		}
	}
}

// next is the question whose time is up first, and how long that is from now, a
// minute at most. Empty: there is none.
func (b *Inbox) next() (id string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(b.due)) {
		if left := b.due[at].Sub(b.ports.Clock.Now()); id == "" || left < wait {
			id, wait = at, left
		}
	}
	return id, max(0, min(wait, time.Minute))
}

// expire lets the default of a question hold.
func (b *Inbox) expire(ctx context.Context, id string) error {
	r, err := b.ports.Store.Requests().Expire(ctx, id, b.tell)
	if err != nil {
		return fmt.Errorf("end request %s, whose time is up: %w", id, err)
	}
	return b.concluded(ctx, r)
}

// fault notes an error that cannot be returned to anybody.
func (b *Inbox) fault(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		b.ports.Log.Error("the inbox", "err", err)
		select { // a disk that is full stays so for a while
		case <-b.ports.Clock.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// Open returns the questions that are open.
func (b *Inbox) Open() []requests.Request { return b.sorted().All }

// sorted are the open questions as they are looked up. Nobody may change them.
func (b *Inbox) sorted() questions {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// Limit is how long a question may wait.
func (b *Inbox) Limit() time.Duration { return b.limit }

// Pending reports whether a question is open whose time may run out. Until it has, the
// team does not end. Trouble that nobody has looked at has no such time.
func (b *Inbox) Pending() bool {
	return slices.ContainsFunc(b.Open(), func(r requests.Request) bool { return !r.Deadline.IsZero() })
}

// Present reports whether a person may answer: somebody is attached, or
// questions are to wait for somebody who will be (DESIGN 10.4).
func (b *Inbox) Present() bool { return b.onAsk == configs.WaitAsk || b.ports.Attached() }

// Wait waits until a question is closed. It fails when ctx ends.
func (b *Inbox) Wait(ctx context.Context, id string) (requests.Request, error) {
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		r, err := b.ports.Store.Requests().Get(ctx, id)
		if err != nil || !r.Open() {
			return r, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
	}
}

// ending reports whether the team is being ended: what waits then waits on in
// the store, for the next run.
func (b *Inbox) ending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.over:
		return true
	default:
		return false
	}
}

// UntilEnd returns ctx for what goes on after the call that began it, until the team
// ends. done must be called.
func (b *Inbox) UntilEnd(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.mu.Lock()
	over := b.over
	b.mu.Unlock()
	if over == nil {
		return ctx, cancel
	}
	if !b.ports.Go(func() { // ends with done
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	}) {
		cancel() // the team has ended
	}
	return ctx, cancel
}

// Ask puts a question and tells whoever has to know of it.
func (b *Inbox) Ask(ctx context.Context, a actors.Actor, n requests.New) (requests.Request, error) {
	r, err := b.ports.Store.Requests().Ask(ctx, a, n)
	if err != nil {
		return r, err
	}
	return r, b.look(ctx)
}

// withdraw closes a question that nobody wants an answer to any more.
func (b *Inbox) withdraw(ctx context.Context, id, reason string) error {
	if _, err := b.ports.Store.Requests().Withdraw(ctx, actors.Actor{}, id, reason); err != nil {
		return fmt.Errorf("withdraw request %s: %w", id, err)
	}
	return b.look(ctx)
}

// withdrawAll withdraws the open questions that want accepts.
func (b *Inbox) withdrawAll(ctx context.Context, reason string, want func(requests.Request) bool) error {
	for _, r := range b.Open() {
		if !want(r) {
			continue
		}
		if err := b.withdraw(ctx, r.ID, reason); err != nil {
			return err
		}
	}
	return nil
}

// Leave closes what is asked about a member that is gone, and what it was asked:
// for others, that is as if it had not answered in time.
//
// Both are needed: a request that waits for a member that is gone would hold its asker
// for as long as its deadline, and an answer to somebody gone would reach nobody. Whether
// its finished work is merged is still to be answered: the work is there.
func (b *Inbox) Leave(ctx context.Context, member string) error {
	for _, r := range b.toAnswer(member) {
		if err := b.expire(ctx, r.ID); err != nil {
			return err
		}
	}
	return b.withdrawAll(ctx, member+" has left the team", func(r requests.Request) bool {
		return r.Member == member && (r.Kind != requests.AskMerge || asksToKeep(r))
	})
}

// Forget drops what is known of a member's life that has ended: that it needs attention,
// and what it waits for in its turn. The questions stay.
func (b *Inbox) Forget(member string) {
	b.asides.set(member, "")
	b.Attention.Clear(member)
}

// holdsUp reports whether a member has nothing to do before a question about it
// is answered. Trouble that nobody has looked at holds up nobody else.
func holdsUp(r requests.Request) bool {
	return r.Kind == requests.AskPlan || r.Kind == requests.AskApproval ||
		r.Kind == requests.AskPermission || asksToKeep(r)
}

// toAnswer are the questions that a member is to answer.
func (b *Inbox) toAnswer(member string) []requests.Request { return b.sorted().To[member] }

// Remind counts one more reminder of the questions that a member has not answered, and
// returns them.
func (b *Inbox) Remind(ctx context.Context, member string) ([]requests.Request, error) {
	all := b.toAnswer(member)
	return all, b.reminders.count(ctx, b.reminders.due(all), b.Open())
}

// Holds reports whether a task waits for approval: its owner can do nothing for
// it until then.
func (b *Inbox) Holds(t tasks.Task) bool {
	return slices.ContainsFunc(b.sorted().About[t.Owner], func(r requests.Request) bool {
		return r.Kind == requests.AskApproval && PayloadOf(r).TaskID == t.ID
	})
}

// ForPeople counts the questions that a person is to answer.
func (b *Inbox) ForPeople() int { return len(b.toAnswer(actors.Operator)) }
