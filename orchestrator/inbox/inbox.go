// Package inbox manages a team's open requests: permissions for calls, approvals
// of plans and of finished work, and members that need attention. It knows who
// waits for whose answer, and lets requests expire. Its API is for covey only and
// may change.
//
// A question is a record in the store until it is answered, so it outlives the
// process and the member that asked. The inbox decides who may answer: a person,
// or the approver that the spec names. Only the first answer counts; the error
// for a later one names the first.
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
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
)

// Inbox manages a team's open questions (requests.Request). The questions are in
// the store, so they survive a restart; all other state can be computed from
// them. Its methods may be called from any goroutine.
//
// No question blocks a member for ever: each one that somebody waits for has a
// deadline, and a default answer that applies from then on (TEAMS.md 6, row 7). A question to a person
// whether work is merged has none; the team waits for it as long as somebody can answer.
type Inbox struct {
	Attention *Attention
	Plans     *PlanGate
	Questions *Questions

	deps  Deps
	onAsk configs.OnAsk
	limit time.Duration // how long a question waits for its answer

	reminders reminders

	acting sync.Mutex // held by act for answers that ActOn acts on too

	mu      sync.Mutex
	open    questions
	due     map[string]time.Time // deadlines by id, on the monotonic clock
	changed chan struct{}        // closed and replaced whenever open changes
	poked   chan struct{}        // signals that watch should refresh
	over    <-chan struct{}      // closed when the team ends; nil before TakeUp
	apply   Apply                // nil before TakeUp

	stop     context.CancelFunc // ends watch; nil before TakeUp
	watching sync.WaitGroup
}

// Apply acts on the answer to a request, except for that of a plan. After a crash it may be
// called again for the same request.
type Apply func(context.Context, requests.Request) error

// Deps are an Inbox's dependencies. Members are identified by name.
type Deps struct {
	Store   *tasks.Store
	Clock   members.Clock
	Log     *slog.Logger
	Journal Journal
	Members Members
	Group   *members.Group // goroutines that the end of the team waits for
	Letters mail.Folder    // holds texts that are too long for a message
	// Changed is called when the open questions may have changed. It must not
	// call the inbox, which holds its lock meanwhile.
	Changed  func()
	Attached func() int // how many people follow the team
	// Reachable reports whether somebody gets to know of a question whenever it is asked.
	Reachable func() bool
	// Lend releases a member's slot on its login to other members. takeBack waits
	// for a slot.
	Lend func(member string) (takeBack func(context.Context) error)
}

// Journal receives what happens.
type Journal interface{ Append(e events.Event) }

// Members are the members of the team. The seats of the crew implement it.
type Members interface {
	Member(name string) (*members.Member, bool)
	LeadMember() *members.Member
	// MemberOf returns the name of the member that an input of hooks is about; empty: none.
	MemberOf(in hooks.Input) string
	// GoneFor returns why a member takes no more turns; empty: it takes turns.
	GoneFor(member string) string
	Turn(member string) int
	// SetMode sets the permission mode of a member that has started.
	SetMode(member, mode string) error
	// Fire fires an event for a member, or for the lead if the member has no seat.
	Fire(ctx context.Context, member string, p hooks.Payload) (hooks.Outcome, error)
}

// defaultLimit is the limit of teams made without a spec.
const defaultLimit = 10 * time.Minute

// New makes the inbox of a team. TakeUp starts it.
func New(team *configs.Team, deps Deps) *Inbox {
	b := &Inbox{
		deps: deps, onAsk: team.OnAsk, limit: cmp.Or(team.AskLimit, defaultLimit),
		reminders: reminders{store: deps.Store}, due: map[string]time.Time{},
		changed: make(chan struct{}), poked: make(chan struct{}, 1),
	}
	b.Attention = &Attention{inbox: b, members: map[string]trouble{}}
	b.Questions = &Questions{inbox: b, calls: map[string]int{}}
	b.Plans = &PlanGate{inbox: b, approved: map[string]bool{}}
	return b
}

// TakeUp reads the questions of earlier runs, acts on answers that were not
// acted on, and watches the deadlines until Ended is called or ctx ends. apply acts on
// the answers from now on.
func (b *Inbox) TakeUp(ctx context.Context, apply Apply) error {
	b.mu.Lock()
	b.over, b.apply = ctx.Done(), apply
	b.mu.Unlock()
	if err := b.recall(ctx); err != nil {
		return fmt.Errorf("the inbox: %w", err)
	}
	ctx, b.stop = context.WithCancel(ctx)
	b.watching.Go(func() { b.watch(ctx) })
	return nil
}

// Ended ends the watch over the deadlines. It implements crew.Ender.
func (b *Inbox) Ended(context.Context) error {
	if b.stop != nil {
		b.stop()
	}
	b.watching.Wait()
	return nil
}

// Assigned clears the attention of a member that gets work. It implements crew.Assigner.
func (b *Inbox) Assigned(m *members.Member, _ teammate.Work) {
	b.Attention.clear(m.Name)
	b.recheck()
}

// Stored makes the inbox check the open questions again: they, or what they are about, may have
// changed. It implements crew.Follower.
func (b *Inbox) Stored(_ context.Context, e events.Event) error {
	switch e.Data.(type) {
	case events.TaskChanged, events.RequestChanged:
		b.recheck()
	}
	return nil
}

// recall restores the state of the last run from the store.
func (b *Inbox) recall(ctx context.Context) error {
	if err := b.reminders.recall(ctx); err != nil {
		return err
	}
	all, err := b.deps.Store.Requests().List(ctx)
	if err != nil {
		return fmt.Errorf("list the requests of earlier runs: %w", err)
	}
	for _, r := range all {
		switch {
		// The members start anew, so what an earlier run said about them no
		// longer holds, and its calls have ended.
		case r.Open() && (r.Kind == requests.AskAttention || r.Kind == requests.AskForm):
			_, err = b.deps.Store.Requests().Withdraw(ctx, actors.Actor{}, r.ID, "the team was started again")
		case !r.Open() && !r.Taken && actsAtOnce(r):
			err = b.act(ctx, r)
		case !r.Open() && !r.Taken && r.Kind == requests.AskQuestion:
			err = b.Questions.recall(ctx, r)
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	if err := b.refresh(ctx); err != nil {
		return err
	}
	return b.dropRemoved(ctx)
}

// dropRemoved closes questions from and to members that the spec no longer has.
func (b *Inbox) dropRemoved(ctx context.Context) error {
	for _, r := range b.Open() {
		for _, name := range []string{r.Member, r.To} {
			if _, here := b.deps.Members.Member(name); here || name == actors.Operator || name == "" {
				continue
			}
			if err := b.leave(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// refresh reads the open questions from the store.
func (b *Inbox) refresh(ctx context.Context) error {
	// It reads under the lock, so that the later of two calls stores its result
	// last.
	b.mu.Lock()
	defer b.mu.Unlock()
	open, err := b.deps.Store.Requests().Open(ctx, "")
	if err != nil {
		return fmt.Errorf("list the open requests: %w", err)
	}
	due, now := map[string]time.Time{}, b.deps.Clock.Now()
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
	b.deps.Changed()
	return nil
}

// timeLeft returns how long a question may still wait by the wall clock, but at
// most its full time, because somebody may have set the clock back.
func timeLeft(r requests.Request, now time.Time) time.Duration {
	return max(0, min(r.Deadline.Sub(now.Round(0)), r.Deadline.Sub(r.Created)))
}

// recheck makes watch check the open questions again. It does not wait for the check.
func (b *Inbox) recheck() { members.Signal(b.poked) }

// watch expires questions at their deadlines until ctx ends.
func (b *Inbox) watch(ctx context.Context) {
	for {
		var late <-chan time.Time
		id, wait := b.next()
		if id != "" {
			late = b.deps.Clock.After(wait)
		}
		select {
		case <-b.poked:
			b.logError(ctx, b.refresh(ctx))
			b.logError(ctx, b.withdrawMoot(ctx))
		case <-late:
			if wait == 0 { // otherwise next had cut a longer wait to a minute
				b.logError(ctx, b.expire(ctx, id))
			}
		case <-ctx.Done():
			return
		}
	}
}

// next returns the question with the earliest deadline, and the time until then,
// at most a minute. id is empty if no question has a deadline.
func (b *Inbox) next() (id string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(b.due)) {
		if left := b.due[at].Sub(b.deps.Clock.Now()); id == "" || left < wait {
			id, wait = at, left
		}
	}
	return id, max(0, min(wait, time.Minute))
}

// expire closes a question with its default answer.
func (b *Inbox) expire(ctx context.Context, id string) error {
	r, err := b.deps.Store.Requests().Expire(ctx, id, b.tell)
	if err != nil {
		return fmt.Errorf("expire request %s: %w", id, err)
	}
	return b.concluded(ctx, r)
}

// logError logs an error that cannot be returned, and then waits for a second.
func (b *Inbox) logError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		b.deps.Log.Error("the inbox", "err", err)
		select { // an error such as a full disk lasts, and must not flood the log
		case <-b.deps.Clock.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// Open returns the questions that are open.
func (b *Inbox) Open() []requests.Request { return b.sorted().All }

// sorted returns the open questions, indexed. The caller must not change them.
func (b *Inbox) sorted() questions {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// Limit returns how long a question waits for its answer.
func (b *Inbox) Limit() time.Duration { return b.limit }

// Unlimited describes for people the open questions for a person that no time limit closes and that the
// end of the team waits for: those about tasks whose work covey cannot merge.
func (b *Inbox) Unlimited() []string {
	var list []string
	for _, r := range b.toAnswer(actors.Operator) {
		if r.Kind == requests.AskApproval && r.Deadline.IsZero() {
			list = append(list, fmt.Sprintf("%s (covey inbox approve %s, or deny)", r.Text, r.ID))
		}
	}
	return list
}

// Present reports whether a person may answer: a person is attached, or on_ask
// says that questions wait for one.
func (b *Inbox) Present() bool { return b.onAsk == configs.WaitAsk || b.deps.Attached() > 0 }

// Reachable reports whether somebody can answer, now or later, so that the team may wait without a limit.
func (b *Inbox) Reachable() bool { return b.deps.Reachable() }

// Wait waits until a question is closed. It fails when ctx ends.
func (b *Inbox) Wait(ctx context.Context, id string) (requests.Request, error) {
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		r, err := b.deps.Store.Requests().Get(ctx, id)
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

// ending reports whether the team is ending. Open questions then stay in the
// store for the next run.
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

// applying returns what acts on answers; nil before TakeUp.
func (b *Inbox) applying() Apply {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.apply
}

// UntilEnd returns a context for work that continues after its caller's ctx is
// canceled, and is canceled when the team ends. The caller must call done.
func (b *Inbox) UntilEnd(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.mu.Lock()
	over := b.over
	b.mu.Unlock()
	if over == nil {
		return ctx, cancel
	}
	if !b.deps.Group.Go(func() { // ends with done
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

// Ask stores a question, with its mail if it has any.
func (b *Inbox) Ask(ctx context.Context, a actors.Actor, n requests.New) (requests.Request, error) {
	r, err := b.deps.Store.Requests().Ask(ctx, a, n)
	if err != nil {
		return r, err
	}
	return r, b.refresh(ctx)
}

// Withdraw closes a question that needs no answer any more.
func (b *Inbox) Withdraw(ctx context.Context, id, reason string) error {
	if _, err := b.deps.Store.Requests().Withdraw(ctx, actors.Actor{}, id, reason); err != nil {
		return fmt.Errorf("withdraw request %s: %w", id, err)
	}
	return b.refresh(ctx)
}

// report journals an event of a member.
func (b *Inbox) report(member string, e events.Data) {
	b.deps.Journal.Append(events.Event{Member: member, Turn: b.deps.Members.Turn(member), Data: e})
}

// Notify journals a question that a person has to answer, for attached screens, and fires the
// Notification hooks. Questions for permission are announced by the turn that asks.
func (b *Inbox) Notify(ctx context.Context, member string, r requests.Request) {
	n := hooks.NotificationInput{
		Message:          fmt.Sprintf("%s; `covey inbox approve %s` or `deny` answers", texts.FirstLine(r.Text), r.ID),
		NotificationType: "agent_needs_input",
	}
	b.report(member, events.Notification{Kind: n.NotificationType, Message: n.Message})
	// Only the end of the team waits for the hooks, which may be slow.
	ctx, done := b.UntilEnd(ctx)
	if !b.deps.Group.Go(func() {
		defer done()
		if _, err := b.deps.Members.Fire(ctx, member, n); err != nil && ctx.Err() == nil {
			b.deps.Log.Warn("Notification hooks", "member", member, "err", err)
		}
	}) {
		done()
	}
}

// withdrawAll withdraws the open questions that want accepts.
func (b *Inbox) withdrawAll(ctx context.Context, reason string, want func(requests.Request) bool) error {
	for _, r := range b.Open() {
		if !want(r) {
			continue
		}
		if err := b.Withdraw(ctx, r.ID, reason); err != nil {
			return err
		}
	}
	return nil
}

// Rejoined drops that the member's last life needed attention, and sets the mode of the new one. It
// implements crew.Rejoiner.
func (b *Inbox) Rejoined(ctx context.Context, m *members.Member, _ members.Return) error {
	b.Attention.clear(m.Name)
	return b.Plans.restart(ctx, m)
}

// Retired closes the questions from and to a member. It implements crew.Retirer.
func (b *Inbox) Retired(ctx context.Context, m *members.Member) error { return b.leave(ctx, m.Name) }

// Left drops what is known of a member that has left the team, and closes its questions. It
// implements crew.Leaver.
func (b *Inbox) Left(ctx context.Context, member string) error {
	b.Attention.clear(member)
	if err := b.leave(ctx, member); err != nil {
		return fmt.Errorf("the questions of %s: %w", member, err)
	}
	return nil
}

// leave closes the questions from and to a member that has left. Questions to it
// expire, so that the askers do not wait for the deadline. Questions about it are
// withdrawn, because nobody would read the answers, except whether its finished
// work is merged.
func (b *Inbox) leave(ctx context.Context, member string) error {
	for _, r := range b.toAnswer(member) {
		if err := b.expire(ctx, r.ID); err != nil {
			return err
		}
	}
	return b.withdrawAll(ctx, member+" has left the team", func(r requests.Request) bool {
		return r.Member == member && r.Kind != requests.AskMerge
	})
}

// Awaits returns whose answer the member that an open request is about waits for, as text after
// "waits for "; empty: it does not wait.
func Awaits(r requests.Request) string {
	if r.Kind == requests.AskPlan || r.Kind == requests.AskApproval || !actsAtOnce(r) {
		return Awaited(r)
	}
	return ""
}

// toAnswer returns the questions that a member has to answer.
func (b *Inbox) toAnswer(member string) []requests.Request { return b.sorted().To[member] }

// Remind counts one reminder of each question that a member has to answer, and
// returns all of these questions.
func (b *Inbox) Remind(ctx context.Context, member string) ([]requests.Request, error) {
	all := b.toAnswer(member)
	return all, b.reminders.count(ctx, b.reminders.due(all), b.Open())
}

// Holds reports whether a task waits for approval, so that its owner cannot work
// on it.
func (b *Inbox) Holds(t tasks.Task) bool {
	return slices.ContainsFunc(b.sorted().About[t.Owner], func(r requests.Request) bool {
		return r.Kind == requests.AskApproval && PayloadOf(r).TaskID == t.ID
	})
}
