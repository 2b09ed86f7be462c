// Package teamtools implements the team tools. It makes all changes that members
// and people make to a team's tasks and mail, through the builtin agent's tools,
// MCP or a shell, and it words the prompts that tell members of them. Its API is
// for covey only and may change.
//
// All changes go through a TaskAPI: it checks the caller and its session, runs the
// hooks, makes the change in one transaction, and returns the text for the
// caller. A builtin agent calls it directly; the MCP server and the control
// socket call it for programs and commands.
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
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// TaskAPI changes a team's tasks and mail for the builtin agent's tools, agent
// programs over MCP, and the covey command. It runs the task hooks around changes
// of the store. Its methods may be called from any goroutine.
type TaskAPI struct {
	deps Deps
	team string
	list atomic.Pointer[memberList]
}

// Deps are a TaskAPI's dependencies. All fields must be set.
type Deps struct {
	Store     *tasks.Store
	Letters   mail.Folder // holds texts that are too long for a message
	Clock     members.Clock
	Members   Members
	Requests  Requests
	Questions Questions
	Plans     Plans
	Templates *specs.Templates
	Work      Work
	Goals     Goals
	News      News
	Schedules *specs.Timetable
	// Act has a member do something whose result depends on what other members did before.
	Act func(ctx context.Context, member string, do func() error) error
}

// Members finds the members of the team. The seats of the crew implement it.
type Members interface {
	// Member finds a member.
	Member(name string) (*members.Member, bool)
	// Now returns what a member does now, and why it takes no more turns. gone is
	// empty for a member that takes turns.
	Now(name string) (state, gone string)
}

// Requests records requests and their answers. An inbox.Inbox implements it.
type Requests interface {
	Ask(ctx context.Context, by actors.Actor, n requests.New) (requests.Request, error)
	Answer(ctx context.Context, by actors.Actor, a inbox.Answer, kinds ...requests.Kind) (requests.Request, error)
	// UntilEnd returns a context for work that continues after its caller's ctx is canceled.
	// The caller must call done.
	UntilEnd(ctx context.Context) (_ context.Context, done func())
}

// Questions puts questions of members to the lead. An inbox.Questions implements it.
type Questions interface {
	Consult(ctx context.Context, by actors.Actor, q inbox.Question) (requests.Request, error)
	// Reply makes a text the answer to a question, if its sender has read one of that member.
	Reply(ctx context.Context, by actors.Actor, member, text string) (found bool, err error)
}

// Plans reports which members still need an approved plan, and submits plans. An
// inbox.PlanGate implements it.
type Plans interface {
	MustPlan(m *members.Member) bool
	Submit(ctx context.Context, m *members.Member, by actors.Actor, in inbox.PlanInput, fire inbox.Fire) agent.ToolResult
	// GiveMode gives a member another permission mode, also across restarts.
	GiveMode(ctx context.Context, m *members.Member, mode string) error
}

// Work receives the results of members' work. A merging.Merger implements it.
type Work interface {
	// Secure makes the work on a task that its gates have agreed to outlive this host, before the task
	// is completed. It waits until that is possible.
	Secure(ctx context.Context, t tasks.Task) error
	// HarvestTask is called with a completed task, within the call that completes it. It is
	// called again when a completed task is changed, or when the call is repeated.
	HarvestTask(ctx context.Context, t tasks.Task)
}

// Goals records that the goal was a question, and the lead's answer. A specs.Goals implements it.
type Goals interface {
	Answer(ctx context.Context, text string) error
}

// News is notified of what members have done for each other.
type News interface {
	// Sent is called after texts were stored in mailboxes.
	Sent(texts []mail.Message)
	// Closed is called after a task was completed.
	Closed(t tasks.Task)
}

// New makes the board of a team. No other team may use the folder Letters.
func New(team *configs.Team, deps Deps) *TaskAPI {
	b := &TaskAPI{deps: deps, team: team.Name}
	b.SetTeam(team)
	return b
}

// Actor is the member or person on whose behalf a change is made.
type Actor struct {
	actors.Actor
	// Fire runs the hooks of one event for the actor.
	Fire func(context.Context, hooks.Payload) (hooks.Outcome, error)
	// Teammate and Team go into the input of task hooks. They are empty for the
	// lead and the operator.
	Teammate, Team string
	// Halt stops the member for good. It is not called for the lead and the
	// operator.
	Halt func(reason string)
	// Force skips gates and limits. Only the operator may set it.
	Force bool
	Lead  bool

	readsOthers bool // it may only read what belongs to others; set by the TaskAPI
}

// RefusedError reports that a task hook did not allow a change.
type RefusedError struct {
	Feedback string
	Awaits   string // the answer that the change waits for; empty if a hook refused it
	halt     string // why a hook stopped the member; empty if none did
}

// Error returns the feedback without a prefix, because the model sees it as it
// is.
func (e *RefusedError) Error() string { return e.Feedback }

// Create stores a task. Nobody sees it before the TaskCreated hooks agree. This
// event ignores continue:false (HOOKS.md section 1).
func (b *TaskAPI) Create(ctx context.Context, by Actor, n tasks.New) (tasks.Task, error) {
	if err := b.canOwn(by, n.Owner); err != nil {
		return tasks.Task{}, err
	}
	if t, known, err := b.createdBefore(ctx, by); known || err != nil {
		return t, err
	}
	var t tasks.Task
	err := b.deps.Act(ctx, by.Name, func() (err error) {
		t, err = b.deps.Store.Create(ctx, by.Actor, n)
		return err
	})
	if err != nil {
		return t, err
	}
	out, err := by.Fire(ctx, hooks.TaskCreatedInput{TaskInput: by.taskInput(t)})
	if err != nil {
		return t, err
	}
	if out.Decision == hooks.Block {
		text := strings.Join(out.Feedback, "\n")
		if err := b.deps.Store.Discard(ctx, by.Actor, t.ID, text); err != nil {
			return t, err
		}
		return t, &RefusedError{Feedback: text}
	}
	return b.deps.Store.Confirm(ctx, by.Actor, t.ID)
}

// createdBefore returns the result of an earlier run of the same call, which a
// crash cut off after its hooks had decided. The hooks do not run again: they
// could decide differently about a task that others have seen. known is false if
// the crash came before they decided; then the task is still proposed, and
// Store.Create returns it again.
func (b *TaskAPI) createdBefore(ctx context.Context, by Actor) (t tasks.Task, known bool, err error) {
	if by.CallID == "" {
		return t, false, nil
	}
	r, ok, err := b.deps.Store.Receipt(ctx, by.Name, by.CallID)
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

// step returns the store actor for a further change within the same call.
func (a Actor) step(name string) actors.Actor {
	next := a.Actor
	if next.CallID != "" {
		next.CallID += "/" + name
	}
	return next
}

// taskInput returns the input of the task hooks. It has no teammate_name for the
// lead and the operator, which are not teammates.
func (a Actor) taskInput(t tasks.Task) hooks.TaskInput {
	return hooks.TaskInput{
		TaskID: t.ID, TaskSubject: t.Subject, TaskDescription: t.Description, TeammateName: a.Teammate, TeamName: a.Team,
		Evidence: teammate.EvidenceOf(t.Evidence),
	}
}

// Update changes a task, and returns it with the names of the fields that
// changed. The TaskCompleted hooks run before the status becomes completed. A
// task without an owner that is set to in_progress is claimed.
func (b *TaskAPI) Update(ctx context.Context, by Actor, id string, p tasks.Patch) (tasks.Task, []string, error) {
	if p.Owner != nil {
		if err := b.canOwn(by, *p.Owner); err != nil {
			return tasks.Task{}, nil, err
		}
	}
	for tries := 1; ; tries++ {
		t, changed, err := b.updateOnce(ctx, by, id, p)
		if err == nil && t.Status == tasks.Completed {
			b.harvest(ctx, t)
			if slices.Contains(changed, "status") {
				b.deps.News.Closed(t)
			}
		}
		if !errors.Is(err, tasks.ErrConflict) || ctx.Err() != nil {
			return t, changed, err
		}
		// The task changed meanwhile, and the hooks must see it as it is now.
		if tries == maxConflicts {
			return t, changed, fmt.Errorf("task %s was changed each of the %d times that its TaskCompleted hooks ran;"+
				" a hook must not change the task that it judges: %w", id, tries, err)
		}
	}
}

// harvest has the work on a completed task harvested, even if the caller goes away.
func (b *TaskAPI) harvest(ctx context.Context, t tasks.Task) {
	ctx, done := b.deps.Requests.UntilEnd(ctx)
	defer done()
	b.deps.Work.HarvestTask(ctx, t)
}

// maxConflicts limits the attempts to complete a task that changes while its
// hooks run. Without a limit, a hook that changes the task would run for ever.
const maxConflicts = 5

// updateOnce attempts an update once. It fails with tasks.ErrConflict if the task
// changed while the hooks ran, because they agreed to another state of it.
func (b *TaskAPI) updateOnce(ctx context.Context, by Actor, id string, p tasks.Patch) (tasks.Task, []string, error) {
	t, err := b.deps.Store.Task(ctx, id)
	if err != nil {
		return t, nil, err
	}
	if !by.Force {
		p.Terms = b.TermsOf
	}
	by.readsOthers = b.list.Load().readOthers
	p.May = by.may(p)
	if p.Status == nil || *p.Status == t.Status {
		return b.store(ctx, by, id, p)
	}
	switch *p.Status {
	case tasks.Completed:
		if err := b.runGates(ctx, by, t, p.Evidence); err != nil {
			return t, nil, err
		}
		if err := b.deps.Work.Secure(ctx, t); err != nil {
			return t, nil, err
		}
		p.Version = t.Version
	case tasks.InProgress:
		if owner := newOwner(by, t, p); owner != "" {
			return b.start(ctx, by, t, owner, p)
		}
	}
	return b.store(ctx, by, id, p)
}

// store makes a change that was checked.
func (b *TaskAPI) store(ctx context.Context, by Actor, id string, p tasks.Patch) (t tasks.Task, changed []string, err error) {
	err = b.deps.Act(ctx, by.Name, func() (err error) {
		t, changed, err = b.deps.Store.Update(ctx, by.Actor, id, p)
		return err
	})
	return t, changed, err
}

// runGates runs the TaskCompleted hooks, which also see the evidence given with
// the change. It returns a *RefusedError if they do not agree; the task then
// stays as it is.
func (b *TaskAPI) runGates(ctx context.Context, by Actor, t tasks.Task, given []tasks.Evidence) error {
	if by.Force {
		return nil
	}
	if err := notByItsGate(ctx, t); err != nil {
		return err
	}
	if err := b.deps.Store.CheckNotLost(ctx, by.Actor, t.ID); err != nil {
		return err
	}
	if err := by.checkComplete(t); err != nil {
		return err
	}
	if err := b.checkPlanApproved(by.Name); err != nil {
		return err
	}
	// Gates ask for approval when a member completes a task, and not at each turn
	// end.
	ctx = inbox.Completing(ctx, by.Name)
	for _, e := range given {
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
		return errors.Join(b.deps.Store.Await(ctx, by.step("await"), t.ID, out.Awaits), refused)
	}
	if out.Decision == hooks.Halt {
		refused.halt = cmp.Or(out.StopReason, "TaskCompleted hook prevented continuation")
		refused.Feedback = cmp.Or(refused.Feedback, "TaskCompleted hook stopped continuation: "+refused.halt)
		by.Halt(refused.halt)
	}
	return errors.Join(b.deps.Store.Refuse(ctx, by.step("refuse"), t.ID, refused.Feedback), refused)
}

// checkPlanApproved fails for a member whose plan is not approved: it could only
// read so far, so it cannot have completed a task.
func (b *TaskAPI) checkPlanApproved(member string) error {
	m, ok := b.deps.Members.Member(member)
	if !ok || !b.deps.Plans.MustPlan(m) {
		return nil
	}
	return texts.Errorf(tasks.ErrTransition, "your plan is not approved yet, so no task of yours can be completed; "+
		"submit the plan with %s and wait for the answer", NamesFor(m.CurrentAgent()).phrases().plan)
}

// newOwner returns the owner that a task has once it is in progress.
func newOwner(by Actor, t tasks.Task, p tasks.Patch) string {
	if p.Owner != nil {
		return *p.Owner
	}
	if t.Owner == "" && by.Session != 0 {
		return by.Name
	}
	return t.Owner
}

// start claims a task for owner and then makes the other changes of the patch.
func (b *TaskAPI) start(
	ctx context.Context, by Actor, t tasks.Task, owner string, p tasks.Patch,
) (tasks.Task, []string, error) {
	if err := by.checkChange(t); err != nil {
		return t, nil, err
	}
	claimed, err := b.Claim(ctx, by, t.ID, owner)
	if err != nil {
		return claimed, nil, err
	}
	changed := []string{"status"}
	if claimed.Owner != t.Owner || p.Owner != nil {
		changed = []string{"owner", "status"}
	}
	p.Status, p.Owner, p.Version = nil, nil, 0
	if isEmpty(p) {
		return claimed, changed, nil
	}
	rest := by
	rest.Actor = by.step("fields")
	after, more, err := b.store(ctx, rest, t.ID, p)
	return after, append(more, changed...), err
}

// isEmpty reports whether a patch changes no field.
func isEmpty(p tasks.Patch) bool {
	return p.Status == nil && p.Subject == nil && p.Description == nil && p.ActiveForm == nil && p.Owner == nil &&
		len(p.AddBlocks) == 0 && len(p.AddBlockedBy) == 0 && len(p.Metadata) == 0 && len(p.Evidence) == 0
}

// Claim makes member the owner of a task and sets it to in_progress, in one
// transaction. Of concurrent claims one succeeds.
func (b *TaskAPI) Claim(ctx context.Context, by Actor, id, member string) (tasks.Task, error) {
	if err := b.canOwn(by, member); err != nil {
		return tasks.Task{}, err
	}
	c := tasks.Claim{Member: member}
	if !by.Force {
		terms := b.TermsOf(member)
		c.Max, c.Skills = terms.Max, terms.Skills
	}
	var t tasks.Task
	err := b.deps.Act(ctx, by.Name, func() (err error) {
		t, err = b.deps.Store.Claim(ctx, by.Actor, id, c)
		return err
	})
	return t, err
}
