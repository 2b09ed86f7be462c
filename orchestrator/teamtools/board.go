// Package teamtools makes every change that members and people make to the tasks and the mail
// of a team, by the builtin agent's tools, over MCP and in a shell alike, and has the texts in
// which members read of them. It is covey's own and makes no promise to other programs.
//
// Board is the one way in: it checks who asks and in which session, asks the hooks, makes
// the change in one transaction, and returns what the caller reads. A builtin agent calls
// it directly, the MCP server and the control socket call it for programs and commands.
package teamtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Board makes every change to a team's tasks and mail, whoever asks for it: the builtin
// agent's tools, agent programs over MCP, and the covey command. It puts the task hooks
// around the store (DESIGN 10.5). Its methods may be called from any goroutine.
type Board struct {
	ports Ports
	team  string
	list  atomic.Pointer[memberList]
}

// Ports are what a Board needs of its team. All of them must be set.
type Ports struct {
	Store    *tasks.Store
	Letters  mail.Folder // where texts lie that are too long for a message
	Members  Members
	Requests Requests
	Plans    Plans
	Commands Commands
	Work     Work
	News     News
}

// Members knows who has a place in the team. The crew does.
type Members interface {
	// Member finds a member.
	Member(name string) (*roster.Member, bool)
	// Now returns what a member does now, and why it takes no more turns; an empty gone
	// says that it does.
	Now(name string) (state, gone string)
}

// Requests takes in answers to what members ask each other; an inbox.Inbox does.
type Requests interface {
	Answer(ctx context.Context, by actors.Actor, a inbox.Answer, kinds ...requests.Kind) (requests.Request, error)
}

// Plans knows whose plan is still to be approved; an inbox.PlanGate does.
type Plans interface {
	MustPlan(m *roster.Member) bool
	Submit(ctx context.Context, m *roster.Member, by actors.Actor, in inbox.PlanInput, fire inbox.Fire) agent.ToolResult
}

// Commands carries out what one member asks of another, and decides whether it may ask
// for it. The other one exists.
type Commands interface {
	// AskToEnd asks a member to leave the team, and returns the request as it was sent.
	AskToEnd(ctx context.Context, by actors.Actor, to, reason string) (mail.ShutdownRequest, error)
	// SetMode gives a member another permission mode.
	SetMode(ctx context.Context, by actors.Actor, to, mode string) error
}

// Work takes in the results of members' work, within the call that brings them.
type Work interface {
	// Finished takes in a completed task. It is called again when somebody changes such a
	// task, or repeats the call that completed it.
	Finished(ctx context.Context, t tasks.Task)
	// Answered notes that the goal was a question, and the lead's answer.
	Answered(ctx context.Context, text string) error
}

// News is told what members have done for each other.
type News interface {
	// Sent takes in texts that lie in mailboxes now.
	Sent(texts []mail.Message)
	// Closed takes in that a task has been completed.
	Closed(t tasks.Task)
}

// New makes the board of a team. Letters must be a folder of the team's own.
func New(team *configs.Team, ports Ports) *Board {
	b := &Board{ports: ports, team: team.Name}
	b.SetMembers(team.Members())
	return b
}

// Actor is on whose behalf a change is made.
type Actor struct {
	actors.Actor
	// Fire runs the hooks of one event in the actor's name.
	Fire func(context.Context, hooks.Payload) (hooks.Outcome, error)
	// Teammate and Team stand in the input of task hooks; empty for the lead
	// and the operator.
	Teammate, Team string
	// Halt stops the member for good. It is not called for the lead and the operator.
	Halt func(reason string)
	// Force skips gates and limits; only an operator may.
	Force bool
	Lead  bool
}

// RefusedError is a change that a task hook did not let pass. Its text is the feedback,
// as the model is to see it.
type RefusedError struct {
	Feedback string
	Awaits   string // whose answer alone is missing; empty: somebody refused
	halt     string // why a hook stopped the member; empty: none did
}

// Error is the feedback alone: it goes to the model as it is.
func (e *RefusedError) Error() string { return e.Feedback }

// Create stores a task once the TaskCreated hooks agree; until then nobody
// sees it. continue:false is ignored by this event (HOOKS.md section 1).
func (b *Board) Create(ctx context.Context, by Actor, n tasks.New) (tasks.Task, error) {
	if err := b.canOwn(by, n.Owner); err != nil {
		return tasks.Task{}, err
	}
	if t, known, err := b.createdBefore(ctx, by); known || err != nil {
		return t, err
	}
	t, err := b.ports.Store.Create(ctx, by.Actor, n)
	if err != nil {
		return t, err
	}
	out, err := by.Fire(ctx, hooks.TaskCreatedInput{TaskInput: by.taskInput(t)})
	if err != nil {
		return t, err
	}
	if out.Decision == hooks.Block {
		text := strings.Join(out.Feedback, "\n")
		if err := b.ports.Store.Discard(ctx, by.Actor, t.ID, text); err != nil {
			return t, err
		}
		return t, &RefusedError{Feedback: text}
	}
	return b.ports.Store.Confirm(ctx, by.Actor, t.ID)
}

// createdBefore returns what a call came to that a crash cut off after its hooks had
// decided. They are not asked again: they could decide otherwise about a task that
// others have seen. A call that was cut off before they decided is not known; its task
// is still proposed, and Store.Create returns it again.
func (b *Board) createdBefore(ctx context.Context, by Actor) (t tasks.Task, known bool, err error) {
	if by.CallID == "" {
		return t, false, nil
	}
	r, ok, err := b.ports.Store.Receipt(ctx, by.Name, by.CallID)
	if err != nil || !ok || r.Task == nil {
		return t, false, err
	}
	switch r.Op {
	case "confirm":
		return *r.Task, true, nil
	case "discard":
		return *r.Task, true, &RefusedError{Feedback: r.Error}
	}
	return t, false, nil
}

// step returns the actor for another change within the same call.
func (a Actor) step(name string) actors.Actor {
	next := a.Actor
	if next.CallID != "" {
		next.CallID += "/" + name
	}
	return next
}

// taskInput is what the task hooks are told of a task. The lead and the operator
// are no teammates, so their input has no teammate_name.
func (a Actor) taskInput(t tasks.Task) hooks.TaskInput {
	return hooks.TaskInput{
		TaskID: t.ID, TaskSubject: t.Subject, TaskDescription: t.Description, TeammateName: a.Teammate, TeamName: a.Team,
		Evidence: teammate.EvidenceOf(t.Evidence),
	}
}

// Update changes a task. Setting it to completed asks the TaskCompleted hooks
// first; setting it to in_progress without an owner claims it. It returns the
// task and the names of the fields that changed.
func (b *Board) Update(ctx context.Context, by Actor, id string, p tasks.Patch) (tasks.Task, []string, error) {
	if p.Owner != nil {
		if err := b.canOwn(by, *p.Owner); err != nil {
			return tasks.Task{}, nil, err
		}
	}
	for tries := 1; ; tries++ {
		t, changed, err := b.updateOnce(ctx, by, id, p)
		if err == nil && t.Status == tasks.Completed {
			b.ports.Work.Finished(ctx, t)
			if slices.Contains(changed, "status") {
				b.ports.News.Closed(t)
			}
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

// maxConflicts limits how often a completion is tried when the task changes while its
// hooks run. Without a limit, a hook that changes the task would be asked for ever.
const maxConflicts = 5

// updateOnce tries an update once, on the task as it is now. It fails with
// tasks.ErrConflict if the task changed while the hooks ran, because they agreed to
// another state of it.
func (b *Board) updateOnce(ctx context.Context, by Actor, id string, p tasks.Patch) (tasks.Task, []string, error) {
	t, err := b.ports.Store.Task(ctx, id)
	if err != nil {
		return t, nil, err
	}
	if !by.Force {
		p.Terms = b.TermsOf
	}
	p.May = by.may(p)
	if p.Status == nil || *p.Status == t.Status {
		return b.ports.Store.Update(ctx, by.Actor, id, p)
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
	return b.ports.Store.Update(ctx, by.Actor, id, p)
}

// mayComplete asks the TaskCompleted hooks, who see the evidence that comes with the
// change as well. A refusal leaves the task as it is.
func (b *Board) mayComplete(ctx context.Context, by Actor, t tasks.Task, shown []tasks.Evidence) error {
	if by.Force {
		return nil
	}
	if err := notByItsGate(ctx, t); err != nil {
		return err
	}
	if err := b.ports.Store.CheckNotLost(ctx, by.Actor, t.ID); err != nil {
		return err
	}
	if err := by.mayEnd(t); err != nil {
		return err
	}
	if err := b.planned(by.Name); err != nil {
		return err
	}
	// Approval is asked for when a task is said to be done, and not at each turn end.
	ctx = context.WithValue(ctx, completerKey{}, by.Name)
	for _, e := range shown {
		e.By = by.Name
		t.Evidence = append(t.Evidence, e)
	}
	out, err := by.Fire(ctx, hooks.TaskCompletedInput{TaskInput: by.taskInput(t)})
	if err != nil || out.Decision == hooks.Pass {
		return err
	}
	if out.Decision == hooks.Halt && by.Teammate == "" {
		// As in other hosts, continue:false does not stop a main agent.
		if out.Decision = hooks.Block; len(out.Feedback) == 0 {
			return nil
		}
	}
	refused := &RefusedError{Feedback: strings.Join(out.Feedback, "\n"), Awaits: out.Awaits}
	if out.Decision == hooks.Await {
		return errors.Join(b.ports.Store.Await(ctx, by.step("await"), t.ID, out.Awaits), refused)
	}
	if out.Decision == hooks.Halt {
		refused.halt = cmp.Or(out.StopReason, "TaskCompleted hook prevented continuation")
		refused.Feedback = cmp.Or(refused.Feedback, "TaskCompleted hook stopped continuation: "+refused.halt)
		by.Halt(refused.halt)
	}
	return errors.Join(b.ports.Store.Refuse(ctx, by.step("refuse"), t.ID, refused.Feedback), refused)
}

// completerKey is under what a context has the name of whoever completes a task.
type completerKey struct{}

// Completer returns who completes the task that hooks are asked about with ctx. It is not
// ok where they are asked at a turn end.
func Completer(ctx context.Context) (name string, ok bool) {
	name, ok = ctx.Value(completerKey{}).(string)
	return name, ok && name != ""
}

// planned refuses the completion of a task by a member whose plan is not approved: the
// member could only read so far.
func (b *Board) planned(member string) error {
	m, ok := b.ports.Members.Member(member)
	if !ok || !b.ports.Plans.MustPlan(m) {
		return nil
	}
	return notation.Errorf(tasks.ErrTransition, "your plan is not approved yet, so no task of yours can be completed; "+
		"submit the plan with %s and wait for the answer", NamesFor(m.CurrentAgent()).phrases().plan)
}

// newOwner returns who owns a task once it is set to in_progress.
func newOwner(by Actor, t tasks.Task, p tasks.Patch) string {
	if p.Owner != nil {
		return *p.Owner
	}
	if t.Owner == "" && by.Session != 0 {
		return by.Name
	}
	return t.Owner
}

// start claims a task for owner and then changes what else was asked for.
func (b *Board) start(
	ctx context.Context, by Actor, t tasks.Task, owner string, p tasks.Patch,
) (tasks.Task, []string, error) {
	claimed, err := b.Claim(ctx, by, t.ID, owner)
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
	after, more, err := b.ports.Store.Update(ctx, rest.Actor, t.ID, p)
	return after, append(more, changed...), err
}

// nothing reports whether a patch changes no field.
func nothing(p tasks.Patch) bool {
	return p.Status == nil && p.Subject == nil && p.Description == nil && p.ActiveForm == nil && p.Owner == nil &&
		len(p.AddBlocks) == 0 && len(p.AddBlockedBy) == 0 && len(p.Metadata) == 0 && len(p.Evidence) == 0
}

// Claim makes member the owner of a task and sets it to in_progress, in one
// step: of many who try, one wins.
func (b *Board) Claim(ctx context.Context, by Actor, id, member string) (tasks.Task, error) {
	if err := b.canOwn(by, member); err != nil {
		return tasks.Task{}, err
	}
	c := tasks.Claim{Member: member}
	if !by.Force {
		terms := b.TermsOf(member)
		c.Max, c.Skills = terms.Max, terms.Skills
	}
	return b.ports.Store.Claim(ctx, by.Actor, id, c)
}
