package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// commands answers the requests of other processes to the running team. The caller's
// right to make a request was checked before.
type commands struct{ t *team }

// handlers returns a handler for each verb.
//
// Handlers run concurrently, so what they share guards itself. One that waits, such as that
// of VerbReady, must return when its ctx ends.
func (q commands) handlers() []api.Handler {
	t, o := q.t, q.t.o
	return []api.Handler{
		api.VerbStatus.Handle(q.status),
		api.VerbReady.Handle(func(ctx context.Context, _ struct{}) (api.Status, error) {
			if err := q.allStarted(ctx); err != nil {
				return api.Status{}, err
			}
			return q.status(ctx, api.StatusQuery{})
		}),
		passedOn(q, api.VerbTasks, false, api.ListTasks(t.Store.List, t.Store.Outline)),
		passedOn(q, api.VerbTask, false, func(ctx context.Context, ref api.TaskRef) (tasks.Task, error) { return t.Store.Task(ctx, ref.ID) }),
		api.VerbStanding.Handle(func(ctx context.Context, ref api.TaskRef) (api.Standing, error) {
			return merging.StandingOf(ctx, t.Store, ref.ID)
		}),
		passedOn(q, api.VerbCreate, false, q.create),
		passedOn(q, api.VerbUpdate, true, q.update),
		passedOn(q, api.VerbClaim, false, q.claim),
		passedOn(q, api.VerbSend, false, q.send),
		api.VerbTool.Handle(t.tools.Call),
		api.VerbInterrupt.Handle(q.interrupt),
		api.VerbHold.Handle(q.hold),
		api.VerbEnd.Handle(t.crew.EndMember),
		api.VerbMerge.Handle(t.Merges.Merge),
		api.VerbReview.Handle(t.Merges.Review),
		api.VerbReturn.Handle(q.sendBack),
		api.VerbInbox.Handle(q.inbox),
		api.VerbNeeds.Handle(func(context.Context, struct{}) (list []api.Need, _ error) {
			t.State.Read(func(s *view.State) { list = s.OtherNeeds() })
			return list[:min(len(list), api.InboxMost)], nil
		}),
		api.VerbAnswer.Handle(q.answer),
		api.VerbApplySpec.Handle(t.applySpec),
		api.VerbHooks.Handle(api.NoInput(t.hookInfos)),
		api.VerbReload.Handle(api.NoInput(t.reload.Ask)),
		api.VerbTrust.Handle(func(_ context.Context, n api.TrustNotice) (api.TrustReply, error) {
			return api.TrustReply{Counts: n.Digest != ""}, t.trust.Announce(n)
		}),
		api.VerbTrusted.Handle(func(_ context.Context, n api.TrustNotice) (api.TrustReply, error) {
			return api.TrustReply{Counts: t.trust.Counts(n)}, nil
		}),
		api.VerbDown.Handle(q.takeDown),
		api.VerbDrafts.Handle(q.drafts),
		api.VerbWeb.Handle(o.opts.Page.Web),
		api.VerbLink.Handle(q.link),
		api.HandleAttach(func(context.Context) (api.AttachReply, error) {
			return api.AttachReply{Seq: t.Journal.Last(), Journal: o.place.Journal()}, nil
		}),
	}
}

// checksOf returns the checks of requests in a member's name.
func (t *team) checksOf() api.Checks {
	return api.Checks{
		Member: t.tools.GuardCommand,
		Hook: func(ctx context.Context, by process.Caller) (context.Context, error) {
			return teamhooks.Within(ctx, t.Processes, by)
		},
	}
}

// actor returns whom a request acts for: a member, or the operator, whose changes run the
// task hooks in the lead's session.
func (q commands) actor(as string, force bool) (teamtools.Actor, error) {
	if as == "" {
		return teamtools.Actor{Actor: actors.Actor{Name: actors.Operator}, Fire: q.t.Seats.Lead().Mate().Fire, Force: force}, nil
	}
	s, ok := q.t.Seats.Of(as)
	if !ok {
		return teamtools.Actor{}, q.t.Board.NoSeat(as)
	}
	by := s.Actor("")
	by.Force = force
	return by, nil
}

// drafts waits until what members write has changed.
func (q commands) drafts(ctx context.Context, r api.DraftsRequest) (members.Drafting, error) {
	if r.Member != "" && !slices.Contains(q.t.o.memberNames(), r.Member) {
		return members.Drafting{}, q.t.Board.NoSeat(r.Member)
	}
	return q.t.o.drafts.Next(ctx, r.Member, r.After)
}

// create makes a task. The call has no id, because the caller gets its answer at once and
// does not repeat it after a crash.
func (q commands) create(ctx context.Context, r api.TaskCreate) (api.TaskReply, error) {
	by, err := q.actor(r.As, r.Force)
	if err != nil {
		return api.TaskReply{}, err
	}
	t, err := q.t.Board.Create(ctx, by, tasks.New{
		Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Owner: r.Owner,
		BlockedBy: r.BlockedBy, Labels: r.Labels, Wants: r.Wants, Metadata: r.Metadata,
	})
	return taskReply(t, nil, err)
}

// update changes a task. Deleting is a separate action, because the store has no such
// status; it runs no gates, because it completes nothing.
func (q commands) update(ctx context.Context, r api.TaskUpdate) (api.TaskReply, error) {
	by, err := q.actor(r.As, r.Force)
	if err != nil {
		return api.TaskReply{}, err
	}
	if r.Status != nil && *r.Status == api.Deleted {
		t, err := q.t.Board.Remove(ctx, by, r.ID)
		return taskReply(t, []string{"deleted"}, err)
	}
	t, changed, err := q.t.Board.Update(ctx, by, r.ID, tasks.Patch{
		Status: r.Status, Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Owner: r.Owner,
		AddBlocks: r.AddBlocks, AddBlockedBy: r.AddBlockedBy, Metadata: r.Metadata,
		Evidence: r.Evidence,
	})
	return taskReply(t, changed, err)
}

// claim claims a task for a member. The operator must name one, because it cannot own
// tasks.
func (q commands) claim(ctx context.Context, r api.TaskClaim) (api.TaskReply, error) {
	by, err := q.actor(r.As, r.Force)
	if err != nil {
		return api.TaskReply{}, err
	}
	if r.As == "" {
		return api.TaskReply{}, fmt.Errorf("say which member is to own task %s: --as MEMBER", r.ID)
	}
	t, err := q.t.Board.Claim(ctx, by, r.ID, r.As)
	return taskReply(t, []string{"owner", "status"}, err)
}

// taskReply turns a refusal by hooks into an answer; other errors stay errors.
func taskReply(t tasks.Task, changed []string, err error) (api.TaskReply, error) {
	var refused *teamtools.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Awaits != "":
		return api.TaskReply{Task: t, Awaits: refused.Feedback}, nil
	case refused != nil:
		return api.TaskReply{Task: t, Refused: []string{refused.Feedback}}, nil
	}
	return api.TaskReply{Task: t, Changed: changed}, err
}

// send stores a message from a person or a member's process.
func (q commands) send(ctx context.Context, r api.Send) (api.SendReply, error) {
	by, err := q.actor(r.As, false)
	if err != nil {
		return api.SendReply{}, err
	}
	if r.Now && (r.As != "" || len(r.WaitFor) > 0) {
		return api.SendReply{}, texts.Errorf(tasks.ErrInvalid, "only a text of the operator that waits for nothing can cut a tool short; "+
			"send it without --now")
	}
	// A reply is only a prediction: it says how soon the member can read the text, not that
	// it has.
	// Read this first: the member may be in its turn with the text once it is sent.
	takes := q.takingMail(r.As == "")
	turns := map[string]int{}
	for _, s := range q.t.Seats.All() {
		turns[s.Member.Name] = s.Turn()
	}
	a, err := q.t.Board.Send(ctx, by, teamtools.SendMessageInput{
		To: r.To, Message: texts.Encode(r.Text), Summary: r.Summary, WaitFor: r.WaitFor,
	})
	if err != nil {
		return api.SendReply{}, err
	}
	reply := api.SendReply{Delivery: api.Delivered, RequestID: a.Request}
	// Without a message that was sent the board has something else to say, for example that
	// the text was an answer to a request. A text that waits for tasks is stored, but
	// nobody reads it yet.
	if len(a.Sent) == 0 || len(r.WaitFor) > 0 {
		reply.Message = a.Message
	}
	for _, m := range a.Sent {
		reply.IDs = append(reply.IDs, m.ID)
		// A turn that has begun since has the text.
		if s, ok := q.t.Seats.Of(m.To); ok && r.Now && !takes[m.To] && s.Turn() == turns[m.To] {
			kind := s.Member.CurrentAgent().Kind
			s.Mate().Signal(port.Signal{Message: m.ID, Turn: kind == configs.ACP || kind == configs.Command})
			continue
		}
		if !takes[m.To] || len(r.WaitFor) > 0 {
			reply.Delivery = api.Queued
		}
	}
	return reply, nil
}

// takingMail returns the members that begin a turn with new mail at once. Locked-out
// members do so only for a person.
func (q commands) takingMail(person bool) map[string]bool {
	takes := map[string]bool{}
	for _, s := range q.t.Seats.All() {
		now := s.Life.State()
		takes[s.Member.Name] = now.Idle && now.Gone == "" && (person || q.t.Logins.Lockout(s.Member.Name) == nil)
	}
	return takes
}

// interrupt ends a turn. It reports whether there was a turn just before: a turn that
// ends by itself in between is no error. The member is held first, or it might begin
// another turn in between.
func (q commands) interrupt(ctx context.Context, r api.InterruptRequest) (api.InterruptReply, error) {
	s, ok := q.t.Seats.Of(r.Member)
	if !ok {
		return api.InterruptReply{}, q.t.Board.NoSeat(r.Member)
	}
	reply := api.InterruptReply{
		Interrupted: !s.Life.State().Idle && !q.t.State.Waits(s.Member.Name, events.ForSlot), Turn: s.Turn(),
	}
	// A member that waits after a failed turn is in no turn that could end. For it,
	// interrupt means to try again now, and then it must not be held.
	reply.Retries = q.t.crew.TryNow(s)
	if !r.GoOn && !reply.Retries && s.Life.State().Gone == "" {
		if err := q.t.Holds.Hold(ctx, r.Member, actors.Operator, reply.Interrupted); err != nil {
			return reply, err
		}
		reply.Held = true
	}
	if reply.Interrupted {
		s.Interrupt("a person interrupted the turn")
	}
	return reply, nil
}

// takeDown asks the team to end. The answer is sent before it does.
func (q commands) takeDown(_ context.Context, r api.Down) (api.DownReply, error) {
	q.t.Loop.Stop(r.Reason)
	return api.DownReply{PID: os.Getpid()}, nil
}

// errToldToStop ends a team that was told to stop with `covey down`.
var errToldToStop = errors.New("told to stop")

// waitDown is the actor that ends the team on request.
func waitDown(ctx context.Context, loop *members.Loop) error {
	select {
	case reason := <-loop.Stopped():
		if reason == "" {
			return errToldToStop
		}
		return fmt.Errorf("%w: %s", errToldToStop, reason)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// allStarted waits until every member has begun its session. A member that is gone from
// the start counts as started, so that a halted member does not block the caller.
func (q commands) allStarted(ctx context.Context) error {
	select {
	case <-q.t.crew.Up():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// status returns the team as `covey ps` shows it.
func (q commands) status(ctx context.Context, want api.StatusQuery) (api.Status, error) {
	t, o := q.t, q.t.o
	all, err := t.Store.Outline(ctx)
	if err != nil {
		return api.Status{}, err
	}
	unread, err := t.Store.Mail().UnreadCounts(ctx)
	if err != nil {
		return api.Status{}, err
	}
	st := api.Status{
		Team: o.team().Name, Goal: t.goals.Text(), Workspace: o.place.Workspace, Spec: o.team().File, PID: os.Getpid(),
		Started: t.started, Elapsed: time.Since(t.started), Tasks: api.CountTasks(all), Seq: t.Journal.Last(),
		Attached: t.control.Attached(), Servers: t.servers.States(), Bus: t.lead.state(),
	}
	st.Schedules = t.times.Status()
	t.State.Read(func(s *view.State) {
		spent := s.Noticed()
		st.Coordination, st.Budget = &spent, s.BudgetAt(time.Now())
		st.Nodes = s.NodeStatus()
		st.Requests, st.Turns, st.Work = s.Questions(), s.Run().Turns, s.WorkCounts()
	})
	// A status must not wait until the team is up; that is what VerbReady is for.
	select {
	case <-t.crew.Up():
		st.Up = true
	default:
	}
	owned := api.OwnedTasks(all)
	var names []string
	for _, s := range t.Seats.All() {
		m := t.State.Status(s.Member.Name)
		m.Lead, m.Agent = s.Member.Lead, members.AgentTitle(s.Member.CurrentAgent())
		m.Background, m.Unread = t.Background.Commands(m.Name), unread[m.Name]
		m.SetTask(owned[m.Name], all)
		m.SetBlocker(owned[m.Name], all)
		st.FailOpen += m.FailedOpen
		st.Members = append(st.Members, m)
		names = append(names, m.Name)
	}
	// Git is asked once for each working copy, which takes processes and far more time than
	// all the rest. Views that refresh often leave it out. The result has one element for
	// each name, in the same order.
	if want.Brief {
		return st, nil
	}
	for i, copy := range t.copies.Status(ctx, names) {
		st.Members[i].Worktree = copy
	}
	return st, nil
}
