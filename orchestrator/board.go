package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
)

// board is how tasks and messages are changed, whoever asks: the builtin
// agent's team tools and the command line go through it. It puts the task
// hooks around the store (DESIGN 10.5).
type board struct {
	store *tasks.Store
	// members lists who can own a task and get mail, the lead first.
	members  []string // as the run began
	enlisted atomic.Pointer[[]string]
	terms    memberTerms
	// finished is told of each task that was completed; nil: nobody is.
	finished func(context.Context, tasks.Task)
	// mayFinish refuses a member that may complete nothing yet; nil: all may.
	mayFinish func(member string) error
	// protocol carries out structured messages; nil: there is nobody who could.
	protocol protocol
	team     string      // the team's name, which agent ids end with
	letters  mail.Folder // where long messages go
	// heard is told of texts that have gone out, closed of tasks that are completed;
	// nil: nobody is.
	heard  func(sent []mail.Message)
	closed func(t tasks.Task)
	// answered notes that the lead's goal was a question, and its answer.
	answered func(ctx context.Context, text string) error
	// gone says why a member takes no more turns, empty if it does; nil: all do.
	gone func(member string) string
}

// actor is on whose behalf a change is made.
type actor struct {
	actors.Actor
	// fire runs the hooks of one event in the actor's name.
	fire func(context.Context, hooks.Payload) (hooks.Outcome, error)
	// teammate and team stand in the input of task hooks; empty for the lead
	// and the operator.
	teammate, team string
	// halt stops the member for good; nil for the lead and the operator.
	halt func(reason string)
	// force skips gates and limits; only an operator may.
	force bool
	lead  bool
}

// refusedError is a change that a task hook did not let pass. Its text is the feedback,
// as the model is to see it. halt is set when the hook stopped the member, awaits when
// nobody refused and only that answer is missing.
type refusedError struct {
	feedback string
	halt     string
	awaits   string
}

// Error is the feedback alone: it goes to the model as it is.
func (e *refusedError) Error() string { return e.feedback }

// create stores a task once the TaskCreated hooks agree; until then nobody
// sees it. continue:false is ignored by this event (HOOKS.md section 1).
func (b *board) create(ctx context.Context, by actor, n tasks.New) (tasks.Task, error) {
	if err := b.canOwn(by, n.Owner); err != nil {
		return tasks.Task{}, err
	}
	if t, known, err := b.createdBefore(ctx, by); known || err != nil {
		return t, err
	}
	t, err := b.store.Create(ctx, by.Actor, n)
	if err != nil {
		return t, err
	}
	out, err := by.fire(ctx, hooks.TaskCreatedInput{TaskInput: by.taskInput(t)})
	if err != nil {
		return t, err
	}
	if out.Decision == hooks.Block {
		text := strings.Join(out.Feedback, "\n")
		if err := b.store.Discard(ctx, by.Actor, t.ID, text); err != nil {
			return t, err
		}
		return t, &refusedError{feedback: text}
	}
	return b.store.Confirm(ctx, by.Actor, t.ID)
}

// createdBefore answers a call that a crash cut off behind its hooks' verdict
// by what they said then: asked again they could say something else about a
// task that others have seen. A call that was cut off before the verdict is
// not known; its task is still proposed, and Create gives it again.
func (b *board) createdBefore(ctx context.Context, by actor) (t tasks.Task, known bool, err error) {
	if by.CallID == "" {
		return t, false, nil
	}
	r, ok, err := b.store.Receipt(ctx, by.Name, by.CallID)
	if err != nil || !ok || r.Task == nil {
		return t, false, err
	}
	switch r.Op {
	case "confirm":
		return *r.Task, true, nil
	case "discard":
		return *r.Task, true, &refusedError{feedback: r.Error}
	}
	return t, false, nil
}

// step is the actor for a further change of the same call.
func (a actor) step(name string) actors.Actor {
	next := a.Actor
	if next.CallID != "" {
		next.CallID += "/" + name
	}
	return next
}

// taskInput is what the task hooks are told of a task. The lead and the operator
// are no teammates, so their input has no teammate_name.
func (a actor) taskInput(t tasks.Task) hooks.TaskInput {
	return hooks.TaskInput{
		TaskID: t.ID, TaskSubject: t.Subject, TaskDescription: t.Description, TeammateName: a.teammate, TeamName: a.team,
		Evidence: teammate.EvidenceOf(t.Evidence),
	}
}

// update changes a task. Setting it to completed asks the TaskCompleted hooks
// first; setting it to in_progress without an owner claims it. It returns the
// task and the names of the fields that changed.
func (b *board) update(ctx context.Context, by actor, id string, p tasks.Patch) (tasks.Task, []string, error) {
	if p.Owner != nil {
		if err := b.canOwn(by, *p.Owner); err != nil {
			return tasks.Task{}, nil, err
		}
	}
	for tries := 1; ; tries++ {
		t, changed, err := b.updateOnce(ctx, by, id, p)
		if err == nil && t.Status == tasks.Completed && b.finished != nil {
			b.finished(ctx, t)
		}
		if err == nil && b.closed != nil && t.Status == tasks.Completed && slices.Contains(changed, "status") {
			b.closed(t)
		}
		if !errors.Is(err, tasks.ErrConflict) || ctx.Err() != nil {
			return t, changed, err
		}
		// Somebody was faster; the hooks must see the task as it is now.
		if tries == maxConflicts {
			return t, changed, fmt.Errorf("task %s was changed each of the %d times that its TaskCompleted hooks ran;"+
				" a hook must not change the task that it judges: %w", id, tries, err)
		}
	}
}

// maxConflicts is how often a completion is tried against changes that come in
// while its hooks run. A hook that writes into the task itself would otherwise
// be asked for ever.
const maxConflicts = 5

// updateOnce is one try of update, on the task as it is now. It fails with
// tasks.ErrConflict when the task changed while the hooks were asked: what they
// agreed to is no longer what would be completed.
func (b *board) updateOnce(ctx context.Context, by actor, id string, p tasks.Patch) (tasks.Task, []string, error) {
	t, err := b.store.Task(ctx, id)
	if err != nil {
		return t, nil, err
	}
	if !by.force {
		p.Terms = b.terms.of
	}
	p.May = by.may(p)
	if p.Status == nil || *p.Status == t.Status {
		return b.store.Update(ctx, by.Actor, id, p)
	}
	switch *p.Status {
	case tasks.Completed:
		if err := b.mayComplete(ctx, by, t, p.Evidence); err != nil {
			return t, nil, err
		}
		p.Version = t.Version
	case tasks.InProgress:
		if owner := newOwner(by, t, p); owner != "" {
			return b.start(ctx, by, t, owner, p)
		}
	}
	return b.store.Update(ctx, by.Actor, id, p)
}

// mayComplete asks the TaskCompleted hooks, who see the evidence that comes with the
// change as well. A refusal leaves the task as it is.
func (b *board) mayComplete(ctx context.Context, by actor, t tasks.Task, shown []tasks.Evidence) error {
	if by.force {
		return nil
	}
	if err := notByItsGate(ctx, t); err != nil {
		return err
	}
	if err := b.store.Holds(ctx, by.Actor, t.ID); err != nil {
		return err
	}
	if err := by.mayEnd(t); err != nil {
		return err
	}
	if b.mayFinish != nil {
		if err := b.mayFinish(by.Name); err != nil {
			return err
		}
	}
	// Approval is asked for when a task is said to be done, and not at each turn end.
	ctx = context.WithValue(ctx, completing{}, by.Name)
	for _, e := range shown {
		e.By = by.Name
		t.Evidence = append(t.Evidence, e)
	}
	out, err := by.fire(ctx, hooks.TaskCompletedInput{TaskInput: by.taskInput(t)})
	if err != nil || out.Decision == hooks.Pass {
		return err
	}
	if out.Decision == hooks.Halt && by.halt == nil {
		// Hosts ignore continue:false where nobody can be stopped: for a main agent.
		if out.Decision = hooks.Block; len(out.Feedback) == 0 {
			return nil
		}
	}
	refused := &refusedError{feedback: strings.Join(out.Feedback, "\n"), awaits: out.Awaits}
	if out.Decision == hooks.Await {
		return errors.Join(b.store.Await(ctx, by.step("await"), t.ID, out.Awaits), refused)
	}
	if out.Decision == hooks.Halt {
		refused.halt = cmp.Or(out.StopReason, "TaskCompleted hook prevented continuation")
		refused.feedback = cmp.Or(refused.feedback, "TaskCompleted hook stopped continuation: "+refused.halt)
		by.halt(refused.halt)
	}
	return errors.Join(b.store.Refuse(ctx, by.step("refuse"), t.ID, refused.feedback), refused)
}

// newOwner is who will own a task that is set to in_progress.
func newOwner(by actor, t tasks.Task, p tasks.Patch) string {
	if p.Owner != nil {
		return *p.Owner
	}
	if t.Owner == "" && by.Session != 0 {
		return by.Name
	}
	return t.Owner
}

// start claims a task for owner and then changes what else was asked for.
func (b *board) start(
	ctx context.Context, by actor, t tasks.Task, owner string, p tasks.Patch,
) (tasks.Task, []string, error) {
	claimed, err := b.claim(ctx, by, t.ID, owner)
	if err != nil {
		return claimed, nil, err
	}
	changed := []string{"status"}
	if claimed.Owner != t.Owner || p.Owner != nil {
		changed = []string{"owner", "status"}
	}
	p.Status, p.Owner, p.Version = nil, nil, 0
	if nothing(p) {
		return claimed, changed, nil
	}
	rest := by
	rest.Actor = by.step("fields")
	after, more, err := b.store.Update(ctx, rest.Actor, t.ID, p)
	return after, append(more, changed...), err
}

// nothing says whether a patch changes no field.
func nothing(p tasks.Patch) bool {
	return p.Status == nil && p.Subject == nil && p.Description == nil && p.ActiveForm == nil && p.Owner == nil &&
		len(p.AddBlocks) == 0 && len(p.AddBlockedBy) == 0 && len(p.Metadata) == 0 && len(p.Evidence) == 0
}

// claim makes member the owner of a task and sets it to in_progress, in one
// step: of many who try, one wins.
func (b *board) claim(ctx context.Context, by actor, id, member string) (tasks.Task, error) {
	if err := b.canOwn(by, member); err != nil {
		return tasks.Task{}, err
	}
	c := tasks.Claim{Member: member}
	if !by.force {
		terms := b.terms.of(member)
		c.Max, c.Skills = terms.Max, terms.Skills
	}
	return b.store.Claim(ctx, by.Actor, id, c)
}
