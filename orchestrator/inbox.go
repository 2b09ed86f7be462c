package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/gang"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// inbox has the team's open questions (requests.Request): who waits for whose
// answer, and when the time for it is up. The questions themselves are in the
// store, and what stands here can be made of them again: so they survive what
// asked them.
//
// No question holds up the team for ever: each that somebody waits for has a
// deadline, and a default that holds from then on (TEAMS.md 6, row 7).
type inbox struct {
	c     *crew
	onAsk configs.OnAsk
	limit time.Duration // how long a question may wait
	// completeOnPass says that a turn end which its gates let go completes tasks.
	completeOnPass bool
	reminded       *reminded
	// closed is what other parts do once a request of a kind is closed, before it is
	// taken; it may be called again after a crash. Fixed before begin.
	closed map[requests.Kind]func(context.Context, requests.Request) error

	mu      sync.Mutex
	open    requests.Sorted
	due     map[string]time.Time // by id; of the clock that cannot be set
	changed chan struct{}        // closed and replaced whenever open changes
	poked   chan struct{}        // something may have changed that nobody looked at
	over    <-chan struct{}      // closed when the team ends; nil before it has begun
}

// defaultAskLimit is for teams that were made without a spec.
const defaultAskLimit = 10 * time.Minute

// newInbox makes the inbox of a team; begin opens it.
func newInbox(c *crew, team *configs.Team, r *reminded) *inbox {
	return &inbox{
		c: c, onAsk: team.OnAsk, limit: cmp.Or(team.AskLimit, defaultAskLimit),
		completeOnPass: team.CompleteOnPass, reminded: r,
		closed: map[requests.Kind]func(context.Context, requests.Request) error{},
		due:    map[string]time.Time{}, changed: make(chan struct{}), poked: make(chan struct{}, 1),
	}
}

// begin reads what earlier runs have left open, carries out what was answered
// and not acted on, and watches the deadlines until stop is called or ctx ends.
func (b *inbox) begin(ctx context.Context) (stop func(), err error) {
	if b == nil {
		return func() {}, nil
	}
	b.mu.Lock()
	b.over = ctx.Done()
	b.mu.Unlock()
	if err := b.recover(ctx); err != nil {
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

// recover brings the inbox to where the last run left it.
func (b *inbox) recover(ctx context.Context) error {
	all, err := b.c.store.Requests().List(ctx)
	if err != nil {
		return fmt.Errorf("what earlier runs have asked: %w", err)
	}
	for _, r := range all {
		switch {
		// Trouble of an earlier run is looked at anew: the member begins afresh.
		case r.Open() && r.Kind == requests.AskAttention:
			_, err = b.c.store.Requests().Withdraw(ctx, actors.Actor{}, r.ID, "the team was started again")
		case !r.Open() && !r.Taken && settledAtOnce(r):
			err = b.settle(ctx, r)
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	return b.look(ctx)
}

// look takes in which questions are open now.
func (b *inbox) look(ctx context.Context) error {
	// Under the lock, so that of two looks the later one is what stands here.
	b.mu.Lock()
	defer b.mu.Unlock()
	open, err := b.c.store.Requests().Open(ctx, "")
	if err != nil {
		return fmt.Errorf("what is open: %w", err)
	}
	due := map[string]time.Time{}
	for _, r := range open {
		if at, known := b.due[r.ID]; known {
			due[r.ID] = at
		} else if !r.Deadline.IsZero() {
			due[r.ID] = b.c.clock.Now().Add(timeLeft(r, b.c.clock.Now()))
		}
	}
	if !slices.EqualFunc(open, b.open.All, func(x, y requests.Request) bool { return x.ID == y.ID }) {
		close(b.changed)
		b.changed = make(chan struct{})
	}
	b.open, b.due = requests.Sort(open), due
	b.c.poke()
	return nil
}

// timeLeft is how long a question may still wait by the clock on the wall. That
// may have been set since, so it is never more than the question had.
func timeLeft(r requests.Request, now time.Time) time.Duration {
	return max(0, min(r.Deadline.Sub(now.Round(0)), r.Deadline.Sub(r.Created)))
}

// note says that something may have changed, without waiting.
func (b *inbox) note() {
	if b != nil {
		gang.Signal(b.poked)
	}
}

// watch lets the time of questions run out.
func (b *inbox) watch(ctx context.Context) {
	for {
		var late <-chan time.Time
		id, wait := b.next()
		if id != "" {
			late = b.c.clock.After(wait)
		}
		select {
		case <-b.poked:
			b.fault(ctx, b.look(ctx))
			b.fault(ctx, b.c.mootApprovals(ctx))
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
func (b *inbox) next() (id string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(b.due)) {
		if left := b.due[at].Sub(b.c.clock.Now()); id == "" || left < wait {
			id, wait = at, left
		}
	}
	return id, max(0, min(wait, time.Minute))
}

// expire lets the default of a question hold.
func (b *inbox) expire(ctx context.Context, id string) error {
	r, err := b.c.store.Requests().Expire(ctx, id, b.tell)
	if err != nil {
		return fmt.Errorf("end request %s, whose time is up: %w", id, err)
	}
	return b.concluded(ctx, r)
}

// fault notes trouble that has nobody to be returned to.
func (b *inbox) fault(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		b.c.log.Error("the inbox", "err", err)
		select { // a disk that is full stays so for a while
		case <-b.c.clock.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// list are the questions that are open.
func (b *inbox) list() []requests.Request { return b.sorted().All }

// sorted are the open questions as they are looked up. Nobody may change them.
func (b *inbox) sorted() requests.Sorted {
	if b == nil {
		return requests.Sorted{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// pending reports whether a question is open whose time may run out. Until it has, the
// team does not end. Trouble that nobody has looked at has no such time.
func (b *inbox) pending() bool {
	return slices.ContainsFunc(b.list(), func(r requests.Request) bool { return !r.Deadline.IsZero() })
}

// present reports whether a person may answer: somebody is attached, or
// questions are to wait for somebody who will be (DESIGN 10.4).
func (b *inbox) present() bool {
	return b.onAsk == configs.WaitAsk || b.c.control != nil && b.c.control.Attached() > 0
}

// wait waits until a question is closed. It fails when ctx ends.
func (b *inbox) wait(ctx context.Context, id string) (requests.Request, error) {
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		r, err := b.c.store.Requests().Get(ctx, id)
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
func (b *inbox) ending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.over:
		return true
	default:
		return false
	}
}

// beside is ctx for what goes on after the call that began it, until the team
// ends. done must be called.
func (b *inbox) beside(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.mu.Lock()
	over := b.over
	b.mu.Unlock()
	if over == nil {
		return ctx, cancel
	}
	if !b.c.members.Go(func() { // ends with done
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

// ask puts a question and tells whoever has to know of it.
func (b *inbox) ask(ctx context.Context, a actors.Actor, n requests.New) (requests.Request, error) {
	r, err := b.c.store.Requests().Ask(ctx, a, n)
	if err != nil {
		return r, err
	}
	return r, b.look(ctx)
}

// withdraw closes a question that nobody wants an answer to any more.
func (b *inbox) withdraw(ctx context.Context, id, reason string) error {
	if _, err := b.c.store.Requests().Withdraw(ctx, actors.Actor{}, id, reason); err != nil {
		return fmt.Errorf("withdraw request %s: %w", id, err)
	}
	return b.look(ctx)
}

// withdrawAll withdraws the open questions that want accepts.
func (b *inbox) withdrawAll(ctx context.Context, reason string, want func(requests.Request) bool) error {
	for _, r := range b.list() {
		if !want(r) {
			continue
		}
		if err := b.withdraw(ctx, r.ID, reason); err != nil {
			return err
		}
	}
	return nil
}

// holdsUp reports whether a member has nothing to do before a question about it
// is answered. Trouble that nobody has looked at holds up nobody else.
func holdsUp(r requests.Request) bool {
	return r.Kind == requests.AskPlan || r.Kind == requests.AskApproval ||
		r.Kind == requests.AskPermission || asksToKeep(r)
}

// awaits says for whose answer a member waits, for people, behind "waits for ";
// empty: for nobody's.
func (b *inbox) awaits(member string) string {
	for _, r := range b.sorted().About[member] {
		if holdsUp(r) {
			return answerOf(r)
		}
	}
	return ""
}

// awaitsFrom is the member whose answer another waits for; empty: nobody's, or
// a person's.
func (b *inbox) awaitsFrom(member string) string {
	for _, r := range b.sorted().About[member] {
		if holdsUp(r) && r.To != actors.Operator {
			return r.To
		}
	}
	return ""
}

// answerOf names an answer that somebody waits for: "lead's approval of its plan".
func answerOf(r requests.Request) string {
	who := r.To + "'s"
	if r.To == actors.Operator {
		who = "a person's"
	}
	switch r.Kind {
	case requests.AskPlan:
		return who + " approval of its plan"
	case requests.AskApproval:
		return who + " approval of " + subjectOf(r)
	case requests.AskPermission:
		return who + " permission to use " + subjectOf(r)
	case requests.AskMerge:
		return who + " approval of " + subjectOf(r)
	}
	return who + " answer"
}

// toAnswer are the questions that a member is to answer.
func (b *inbox) toAnswer(member string) []requests.Request { return b.sorted().To[member] }

// view tells plan who waits for an answer, and who owes one.
func (b *inbox) view(seats []plan.Seat) {
	for i := range seats {
		seats[i].Awaits, seats[i].AwaitsFrom = b.awaits(seats[i].Name), b.awaitsFrom(seats[i].Name)
		if b == nil {
			continue
		}
		for _, r := range b.reminded.due(b.toAnswer(seats[i].Name)) {
			seats[i].Questions += r.ID + " "
		}
	}
}

// handQuestions reminds an idle member of the questions that it has not answered. It is
// counted first: a crash in between costs one reminder, and not one more turn.
func (c *crew) handQuestions(ctx context.Context, s *seat, mark string) error {
	all := c.asks.toAnswer(s.member.Name)
	if err := c.asks.reminded.count(ctx, c.asks.reminded.due(all), c.asks.list()); err != nil {
		return err
	}
	text := tongueOf(s.member.CurrentAgent()).unansweredText(all)
	return c.hand(s, teammate.Work{Cause: agent.ByNudge, Inputs: []agent.Input{
		{Kind: agent.FromCovey, Text: text},
	}}, mark)
}

// holds reports whether a task waits for approval: its owner can do nothing for
// it until then.
func (b *inbox) holds(t tasks.Task) bool {
	return slices.ContainsFunc(b.sorted().About[t.Owner], func(r requests.Request) bool {
		return r.Kind == requests.AskApproval && payloadOf(r).TaskID == t.ID
	})
}

// forPeople counts the questions that a person is to answer.
func (b *inbox) forPeople() int { return len(b.toAnswer(actors.Operator)) }

// unansweredText reminds a member of the questions that wait for it.
func (t tongue) unansweredText(list []requests.Request) string {
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = fmt.Sprintf("- %s (request_id %s)", wording.FirstLine(r.Text), r.ID)
	}
	return "You are idle, but others wait for your answer:\n" + strings.Join(lines, "\n") +
		"\nAnswer with " + t.sending() + ", as the requests in your messages say."
}

// sending names the way to send a message.
func (t tongue) sending() string {
	switch t {
	case byMCP:
		return mcpSend
	case byShell:
		return "`" + coveyShell + " send`"
	}
	return "SendMessage"
}
