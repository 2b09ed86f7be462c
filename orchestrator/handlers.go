package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hooking"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// commands answers what other processes ask of the running team. Who may ask for what has
// been checked before its methods are called.
type commands struct {
	o *Orchestrator
	c *crew
}

// handlers has a row for each verb.
func (q commands) handlers() []api.Handler {
	o, c := q.o, q.c
	return []api.Handler{
		api.VerbStatus.Handle(api.NoInput(q.status)),
		api.VerbReady.Handle(func(ctx context.Context, _ struct{}) (api.Status, error) {
			if err := q.allStarted(ctx); err != nil {
				return api.Status{}, err
			}
			return q.status(ctx)
		}),
		api.VerbTasks.Handle(api.ListTasks(c.store.List, c.store.Outline)),
		api.VerbTask.Handle(func(ctx context.Context, t api.TaskRef) (tasks.Task, error) { return c.store.Task(ctx, t.ID) }),
		api.VerbStanding.Handle(func(ctx context.Context, t api.TaskRef) (api.Standing, error) {
			return merging.StandingOf(ctx, c.store, t.ID)
		}),
		api.VerbCreate.Handle(q.create),
		api.VerbUpdate.Handle(q.update),
		api.VerbClaim.Handle(q.claim),
		api.VerbSend.Handle(q.send),
		api.VerbTool.Handle(c.tools.Call),
		api.VerbInterrupt.Handle(q.interrupt),
		api.VerbHold.Handle(q.hold),
		api.VerbEnd.Handle(q.endMember),
		api.VerbMerge.Handle(c.work.merges.Merge),
		api.VerbReview.Handle(c.work.merges.Review),
		api.VerbInbox.Handle(q.inbox),
		api.VerbAnswer.Handle(q.answer),
		api.VerbApplySpec.Handle(func(ctx context.Context, r api.ApplySpec) (api.SpecChange, error) { return o.applySpec(ctx, c, r) }),
		api.VerbHooks.Handle(func(context.Context, struct{}) ([]hooklist.Info, error) { return hookInfos(o, c) }),
		api.VerbReload.Handle(api.NoInput(c.hooks.reload.Ask)),
		api.VerbTrust.Handle(func(_ context.Context, n api.TrustNotice) (api.TrustReply, error) {
			return api.TrustReply{Counts: n.Digest != ""}, c.trust.Announce(n)
		}),
		api.VerbTrusted.Handle(func(_ context.Context, n api.TrustNotice) (api.TrustReply, error) {
			return api.TrustReply{Counts: c.trust.Counts(n)}, nil
		}),
		api.VerbDown.Handle(q.takeDown),
		api.HandleAttach(func(context.Context) (api.AttachReply, error) {
			return api.AttachReply{Seq: c.journal.Last(), Journal: o.place.Journal()}, nil
		}),
	}
}

// checksOf are what is asked before something is done in a member's name.
func checksOf(c *crew) api.Checks {
	return api.Checks{
		Member: c.tools.GuardCommand,
		Hook: func(ctx context.Context, by process.Caller) (context.Context, error) {
			return hooking.Within(ctx, c.processes, by)
		},
	}
}

// actor is whoever a request acts for: a member, or the operator, whose
// changes run the task hooks in the lead's session.
func (q commands) actor(as string, force bool) (teamtools.Actor, error) {
	if as == "" {
		return teamtools.Actor{Actor: actors.Actor{Name: actors.Operator}, Fire: q.c.seating.lead().mate.Fire, Force: force}, nil
	}
	s, ok := q.c.seating.of(as)
	if !ok {
		return teamtools.Actor{}, q.c.noSeat(as)
	}
	by := s.actor("")
	by.Force = force
	return by, nil
}

// create makes a task for somebody outside. The call has no id: the asker gets
// its answer or an error at once, and nobody repeats it after a crash.
func (q commands) create(ctx context.Context, r api.TaskCreate) (api.TaskReply, error) {
	by, err := q.actor(r.As, r.Force)
	if err != nil {
		return api.TaskReply{}, err
	}
	t, err := q.c.board.Create(ctx, by, tasks.New{
		Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Owner: r.Owner,
		BlockedBy: r.BlockedBy, Labels: r.Labels, Wants: r.Wants, Metadata: r.Metadata,
	})
	return taskReply(t, nil, err)
}

// update changes a task. To delete one is an action of its own, because the
// store keeps no task in such a state; no gate is asked, for nothing is claimed to
// be done.
func (q commands) update(ctx context.Context, r api.TaskUpdate) (api.TaskReply, error) {
	by, err := q.actor(r.As, r.Force)
	if err != nil {
		return api.TaskReply{}, err
	}
	if r.Status != nil && *r.Status == api.Deleted {
		t, err := q.c.board.Remove(ctx, by, r.ID)
		return taskReply(t, []string{"deleted"}, err)
	}
	t, changed, err := q.c.board.Update(ctx, by, r.ID, tasks.Patch{
		Status: r.Status, Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Owner: r.Owner,
		AddBlocks: r.AddBlocks, AddBlockedBy: r.AddBlockedBy, Metadata: r.Metadata,
		Evidence: r.Evidence,
	})
	return taskReply(t, changed, err)
}

// claim claims a task for a member. The operator must say for which one: it
// can own no task, since nobody would ever be woken for it.
func (q commands) claim(ctx context.Context, r api.TaskClaim) (api.TaskReply, error) {
	by, err := q.actor(r.As, r.Force)
	if err != nil {
		return api.TaskReply{}, err
	}
	if r.As == "" {
		return api.TaskReply{}, fmt.Errorf("say which member is to own task %s: --as MEMBER", r.ID)
	}
	t, err := q.c.board.Claim(ctx, by, r.ID, r.As)
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

// send stores what a person or a member's process sends.
func (q commands) send(ctx context.Context, r api.Send) (api.SendReply, error) {
	by, err := q.actor(r.As, false)
	if err != nil {
		return api.SendReply{}, err
	}
	// Asked before: a member may be in its turn with the text by the time it is sent.
	takes := q.takingMail(r.As == "")
	a, err := q.c.board.Send(ctx, by, teamtools.SendMessageInput{
		To: r.To, Message: notation.Encode(r.Text), Summary: r.Summary, WaitFor: r.WaitFor,
	})
	if err != nil {
		return api.SendReply{}, err
	}
	reply := api.SendReply{Delivery: api.Delivered, RequestID: a.Request}
	if len(a.Sent) == 0 || len(r.WaitFor) > 0 {
		reply.Message = a.Message
	}
	for _, m := range a.Sent {
		reply.IDs = append(reply.IDs, m.ID)
		if !takes[m.To] || len(r.WaitFor) > 0 {
			reply.Delivery = api.Queued
		}
	}
	return reply, nil
}

// takingMail are the members that begin a turn with new mail at once. Those
// that are locked out do so for a person alone.
func (q commands) takingMail(person bool) map[string]bool {
	takes := map[string]bool{}
	for _, s := range q.c.seating.all() {
		now := s.life.State()
		takes[s.member.Name] = now.Idle && now.Gone == "" && (person || q.c.logins.State(s.member.Name).Lockout == nil)
	}
	return takes
}

// interrupt ends a turn. Whether there was one is answered by what the crew knew
// just before: a turn that ends by itself in between is no error.
//
// The member is held before its turn ends, or it might begin another one in between.
func (q commands) interrupt(ctx context.Context, r api.InterruptRequest) (api.InterruptReply, error) {
	s, ok := q.c.seating.of(r.Member)
	if !ok {
		return api.InterruptReply{}, q.c.board.Known(r.Member)
	}
	reply := api.InterruptReply{Interrupted: !s.life.State().Idle && q.c.logins.State(s.member.Name).Waits == "", Turn: q.c.watch.Of(s.member.Name).Turn}
	reply.Retries = q.c.tryNow(s)
	if !r.GoOn && !reply.Retries && s.life.State().Gone == "" {
		if err := q.c.holds.Hold(ctx, r.Member, actors.Operator, reply.Interrupted); err != nil {
			return reply, err
		}
		reply.Held = true
	}
	if reply.Interrupted {
		s.mate.Interrupt("a person interrupted the turn")
	}
	return reply, nil
}

// takeDown asks the team to end. The answer goes out before it does.
func (q commands) takeDown(_ context.Context, r api.Down) (api.DownReply, error) {
	q.c.loop.Stop(r.Reason)
	return api.DownReply{PID: os.Getpid()}, nil
}

// errTold ends a team that was told to stop with `covey down`.
var errTold = errors.New("told to stop")

// waitDown is the actor that ends the team when somebody says so.
func waitDown(ctx context.Context, c *crew) error {
	select {
	case reason := <-c.loop.Stopped():
		if reason == "" {
			return errTold
		}
		return fmt.Errorf("%w: %s", errTold, reason)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// allStarted waits until every member has begun its session.
// A member that is gone from the start counts as started: else nobody could ever
// wait for a team with a halted member.
func (q commands) allStarted(ctx context.Context) error {
	select {
	case <-q.c.opening.Up():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// state is what a member does now.
func (s *seat) state(now lives.State) api.MemberState {
	login := s.crew.logins.State(s.member.Name)
	locked := login.Lockout
	switch {
	case now.Gone != "":
		return api.Ended
	case !now.Begun:
		return api.Starting
	case !now.Idle && (login.Waits != "" || s.crew.asks.Aside(s.member.Name) != ""):
		return api.Waiting
	case !now.Idle:
		return api.Working
	case now.Idle && s.holdsBack(s.crew.clock.Now()):
		return api.Waiting
	case s.held():
		return api.Held
	case locked != nil && locked.LoggedOut:
		return api.LoggedOut
	case locked != nil && !locked.Failed && !locked.Until.IsZero(), !login.Lent.IsZero():
		return api.Limited
	case s.crew.asks.Attention.Of(s.member.Name) != "":
		return api.NeedsAttention
	}
	return api.Resting
}

// status is the team as `covey ps` shows it.
func (q commands) status(ctx context.Context) (api.Status, error) {
	o, c := q.o, q.c
	all, err := c.store.Outline(ctx)
	if err != nil {
		return api.Status{}, err
	}
	unread, err := c.store.Mail().UnreadCounts(ctx)
	if err != nil {
		return api.Status{}, err
	}
	st := api.Status{
		Team: o.team().Name, Goal: c.goals.Text(), Workspace: o.place.Workspace, Spec: o.team().File, PID: os.Getpid(),
		Started: o.started, Elapsed: time.Since(o.started), Tasks: api.CountTasks(all), Seq: c.journal.Last(),
		Attached: c.control.Attached(), Requests: c.asks.ForPeople(),
	}
	st.Budget = c.accounts.ledger.Report()
	st.Schedules = c.times.Status()
	spent := coordination(c)
	st.Coordination, st.Turns = &spent, c.accounts.tally.Sum()
	select {
	case <-c.opening.Up():
		st.Up = true
	default:
	}
	owned := map[string][]int{} // the places of each member's tasks
	for i := range all {
		owned[all[i].Owner] = append(owned[all[i].Owner], i)
	}
	var names []string
	for _, s := range c.seating.all() {
		m := q.memberStatus(s, owned[s.member.Name], all)
		m.Unread = unread[s.member.Name]
		st.FailOpen += m.FailedOpen
		st.Members = append(st.Members, m)
		names = append(names, m.Name)
	}
	for i, copy := range c.work.trees.Status(ctx, names) {
		st.Members[i].Worktree = copy
	}
	return st, nil
}

// memberStatus is one member as `covey ps` shows it. own are the places of the tasks that
// it owns.
func (q commands) memberStatus(s *seat, own []int, all []tasks.Outline) api.MemberStatus {
	ran := q.c.hooks.live.Tallies.Of(s.member.Name)
	done, login, now := q.c.accounts.tally.Of(s.member.Name), q.c.logins.State(s.member.Name), q.c.watch.Of(s.member.Name)
	life := s.life.State()
	m := api.MemberStatus{
		Name: s.member.Name, Lead: s.member.Lead, Agent: roster.AgentTitle(s.member.CurrentAgent()),
		State: s.state(life), Doing: now.Doing,
		Turn: now.Turn, Attention: cmp.Or(life.Gone, q.c.asks.Attention.Of(s.member.Name)), Refusals: now.Refusals,
		Turns: done.Turns, Empty: done.Empty,
		FailedOpen: ran.FailedOpen(), Hooks: ran.Noteworthy(),
		Tokens: done.Usage.Total(), TokensUnknown: done.UsageUnknown,
	}
	if !life.Idle {
		m.Pass = now.Pass
	}
	for _, i := range own {
		t := &all[i]
		if t.Status == tasks.InProgress && m.Task == "" {
			m.Task, m.Subject = t.ID, t.Subject
		}
		if t.Status != tasks.Pending || m.WaitsFor != "" {
			continue
		}
		if by := t.OpenBlockers(all); len(by) > 0 {
			m.WaitsFor = tasks.Named(by...)
		}
	}
	if m.State != api.Resting {
		m.WaitsFor = cmp.Or(login.Waits, q.c.asks.Aside(s.member.Name))
	}
	if now := q.c.clock.Now(); login.Lockout != nil && life.Idle && s.holdsBack(now) {
		m.WaitsFor = login.Lockout.RetryText(now)
	}
	if awaits := q.c.asks.Awaits(s.member.Name); life.Idle && life.Gone == "" && awaits != "" {
		m.WaitsFor = awaits
	}
	if m.State == api.Held {
		m.WaitsFor = "covey resume " + s.member.Name
	}
	m.Held = s.held()
	m.Limits, m.CostUSD = q.c.accounts.ledger.ReportOf(s.member.Name)
	m.Background = q.c.hooks.background.Commands(s.member.Name)
	if m.State == api.Resting && m.WaitsFor == "" && s.crew.hooks.background.MayWake(s.member.Name) {
		m.WaitsFor = "hook " + m.Background[0]
	}
	if m.State == api.Limited {
		m.LimitedUntil = login.Lent
		if login.Lockout != nil {
			m.LimitedUntil = login.Lockout.Until
		}
	}
	return m
}
