package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// handlers answer what other processes ask of the running team, a row for each verb. Who may ask
// for what has been checked before they are called.
func (o *Orchestrator) handlers(c *crew) []Handler {
	status := func(ctx context.Context) (Status, error) { return o.status(ctx, c) }
	return []Handler{
		VerbStatus.Handle(NoInput(status)),
		VerbReady.Handle(func(ctx context.Context, _ struct{}) (Status, error) {
			if err := c.allStarted(ctx); err != nil {
				return Status{}, err
			}
			return status(ctx)
		}),
		VerbTasks.Handle(ListTasks(c.store.List, c.store.Outline)),
		VerbTask.Handle(func(ctx context.Context, t TaskRef) (tasks.Task, error) { return c.store.Task(ctx, t.ID) }),
		VerbStanding.Handle(func(ctx context.Context, t TaskRef) (Standing, error) { return StandingOf(ctx, c.store, t.ID) }),
		VerbCreate.Handle(c.createFor),
		VerbUpdate.Handle(c.updateFor),
		VerbClaim.Handle(c.claimFor),
		VerbSend.Handle(c.sendFor),
		VerbTool.Handle(c.toolFor),
		VerbInterrupt.Handle(c.interrupt),
		VerbHold.Handle(c.holdFor),
		VerbEnd.Handle(c.endFor),
		VerbMerge.Handle(c.merges.merge),
		VerbReview.Handle(c.merges.review),
		VerbInbox.Handle(c.inboxFor),
		VerbAnswer.Handle(c.answerFor),
		VerbReshape.Handle(func(ctx context.Context, r Reshape) (SpecChange, error) { return o.reshape(ctx, c, r) }),
		VerbHooks.Handle(func(context.Context, struct{}) ([]hooklist.Info, error) { return o.hookInfos(c) }),
		VerbReload.Handle(NoInput(c.reload.ask)),
		VerbTrust.Handle(func(_ context.Context, n TrustNotice) (TrustReply, error) {
			return TrustReply{Counts: n.Digest != ""}, c.trust.announce(entryOf(n), n.Digest)
		}),
		VerbTrusted.Handle(func(_ context.Context, n TrustNotice) (TrustReply, error) {
			return TrustReply{Counts: c.trust.counted(entryOf(n), n.Digest)}, nil
		}),
		VerbDown.Handle(c.takeDown),
		HandleAttach(func(context.Context) (AttachReply, error) {
			return AttachReply{Seq: c.journal.Last(), Journal: o.place.Journal()}, nil
		}),
	}
}

// checksOf are what is asked before something is done in a member's name.
func checksOf(c *crew) Checks {
	return Checks{
		Member: c.guardCommand,
		Hook: func(ctx context.Context, by process.Caller) (context.Context, error) {
			return withinHook(ctx, c.processes, by)
		},
	}
}

// actorFor is whoever a request acts for: a member, or the operator, whose
// changes run the task hooks in the lead's session.
func (c *crew) actorFor(as string, force bool) (actor, error) {
	if as == "" {
		return actor{Actor: actors.Actor{Name: actors.Operator}, fire: c.seats()[0].mate.Fire, force: force}, nil
	}
	s, ok := c.seat(as)
	if !ok {
		return actor{}, c.board.known(as)
	}
	by := s.actor("")
	by.force = force
	return by, nil
}

// createFor makes a task for somebody outside. The call has no id: the asker gets
// its answer or an error at once, and nobody repeats it after a crash.
func (c *crew) createFor(ctx context.Context, r TaskCreate) (TaskReply, error) {
	by, err := c.actorFor(r.As, r.Force)
	if err != nil {
		return TaskReply{}, err
	}
	t, err := c.board.create(ctx, by, tasks.New{
		Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Owner: r.Owner,
		BlockedBy: r.BlockedBy, Labels: r.Labels, Wants: r.Wants, Metadata: r.Metadata,
	})
	return taskReply(t, nil, err)
}

// updateFor changes a task. To delete one is an action of its own, because the
// store keeps no task in such a state; no gate is asked, for nothing is claimed to
// be done.
func (c *crew) updateFor(ctx context.Context, r TaskUpdate) (TaskReply, error) {
	by, err := c.actorFor(r.As, r.Force)
	if err != nil {
		return TaskReply{}, err
	}
	if r.Status != nil && *r.Status == Deleted {
		t, err := c.board.remove(ctx, by, r.ID)
		return taskReply(t, []string{"deleted"}, err)
	}
	t, changed, err := c.board.update(ctx, by, r.ID, tasks.Patch{
		Status: r.Status, Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Owner: r.Owner,
		AddBlocks: r.AddBlocks, AddBlockedBy: r.AddBlockedBy, Metadata: r.Metadata,
		Evidence: r.Evidence,
	})
	return taskReply(t, changed, err)
}

// claimFor claims a task for a member. The operator must say for which one: it
// can own no task, since nobody would ever be woken for it.
func (c *crew) claimFor(ctx context.Context, r TaskClaim) (TaskReply, error) {
	by, err := c.actorFor(r.As, r.Force)
	if err != nil {
		return TaskReply{}, err
	}
	if r.As == "" {
		return TaskReply{}, fmt.Errorf("say which member is to own task %s: --as MEMBER", r.ID)
	}
	t, err := c.board.claim(ctx, by, r.ID, r.As)
	return taskReply(t, []string{"owner", "status"}, err)
}

// taskReply turns a refusal by hooks into an answer; other errors stay errors.
func taskReply(t tasks.Task, changed []string, err error) (TaskReply, error) {
	var refused *refusedError
	switch {
	case errors.As(err, &refused) && refused.awaits != "":
		return TaskReply{Task: t, Awaits: refused.feedback}, nil
	case refused != nil:
		return TaskReply{Task: t, Refused: []string{refused.feedback}}, nil
	}
	return TaskReply{Task: t, Changed: changed}, err
}

// sendFor stores what a person or a member's process sends.
func (c *crew) sendFor(ctx context.Context, r Send) (SendReply, error) {
	by, err := c.actorFor(r.As, false)
	if err != nil {
		return SendReply{}, err
	}
	w, err := readMessage(sendMessageInput{To: r.To, Message: rawjson.Encode(r.Text), Summary: r.Summary, WaitFor: r.WaitFor})
	if err != nil {
		return SendReply{}, err
	}
	if r.As == "" && w.kind == mail.Text {
		w.kind = mail.OperatorMessage
	}
	// Asked before: a member may be in its turn with the text by the time it is sent.
	takes := c.takingMail(r.As == "")
	a, err := c.board.say(ctx, by, w)
	if err != nil {
		return SendReply{}, err
	}
	reply := SendReply{Delivery: Delivered, RequestID: a.Request}
	if len(a.sent) == 0 || len(r.WaitFor) > 0 {
		reply.Message = a.Message
	}
	for _, m := range a.sent {
		reply.IDs = append(reply.IDs, m.ID)
		if !takes[m.To] || len(r.WaitFor) > 0 {
			reply.Delivery = Queued
		}
	}
	return reply, nil
}

// takingMail are the members that begin a turn with new mail at once. Those
// that are locked out do so for a person alone.
func (c *crew) takingMail(person bool) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	takes := map[string]bool{}
	for _, s := range c.seats() {
		takes[s.member.Name] = s.idle && s.gone == "" && (person || c.logins.State(s.member.Name).Lockout == nil)
	}
	return takes
}

// interrupt ends a turn. Whether there was one is answered by what the crew knew
// just before: a turn that ends by itself in between is no error.
//
// The member is held before its turn ends, or it might begin another one in between.
func (c *crew) interrupt(ctx context.Context, r InterruptRequest) (InterruptReply, error) {
	s, ok := c.seat(r.Member)
	if !ok {
		return InterruptReply{}, c.board.known(r.Member)
	}
	c.mu.Lock()
	reply := InterruptReply{Interrupted: !s.idle && c.logins.State(s.member.Name).Waits == "", Turn: s.watch.turn}
	c.mu.Unlock()
	reply.Retries = c.tryNow(s)
	if !r.GoOn && !reply.Retries && s.goneReason() == "" {
		if err := c.holds.Hold(ctx, r.Member, actors.Operator, reply.Interrupted); err != nil {
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
func (c *crew) takeDown(_ context.Context, r Down) (DownReply, error) {
	select {
	case c.down <- r.Reason:
	default: // it has been told already
	}
	return DownReply{PID: c.pid}, nil
}

// errTold ends a team that was told to stop with `covey down`.
var errTold = errors.New("told to stop")

// waitDown is the actor that ends the team when somebody says so.
func (c *crew) waitDown(ctx context.Context) error {
	select {
	case reason := <-c.down:
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
func (c *crew) allStarted(ctx context.Context) error {
	select {
	case <-c.up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// roster is the members as they see each other.
func (c *crew) roster() []rosterEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []rosterEntry
	for _, s := range c.seats() {
		list = append(list, rosterEntry{
			Name: s.member.Name, Lead: s.member.Lead, Agent: roster.AgentTitle(s.member.CurrentAgent()),
			Description: s.member.Description, State: string(s.state()),
		})
	}
	return list
}

// state is what a member does now; crew.mu is held.
func (s *seat) state() MemberState {
	login := s.crew.logins.State(s.member.Name)
	locked := login.Lockout
	switch {
	case s.gone != "":
		return Ended
	case !s.sessionBegun:
		return Starting
	case !s.idle && (login.Waits != "" || s.aside != ""):
		return Waiting
	case !s.idle:
		return Working
	case s.holdsBack(s.crew.clock.Now()):
		return Waiting
	case s.held():
		return Held
	case locked != nil && locked.LoggedOut:
		return LoggedOut
	case locked != nil && !locked.Failed && !locked.Until.IsZero(), !login.Lent.IsZero():
		return Limited
	case s.attention != "":
		return NeedsAttention
	}
	return Resting
}

// status is the team as `covey ps` shows it.
func (o *Orchestrator) status(ctx context.Context, c *crew) (Status, error) {
	all, err := c.store.Outline(ctx)
	if err != nil {
		return Status{}, err
	}
	unread, err := c.store.Mail().UnreadCounts(ctx)
	if err != nil {
		return Status{}, err
	}
	st := Status{
		Team: o.team().Name, Goal: c.worksFor(), Workspace: o.place.Workspace, Spec: o.team().File, PID: c.pid,
		Started: o.started, Elapsed: time.Since(o.started), Tasks: CountTasks(all), Seq: c.journal.Last(),
		Attached: c.control.Attached(), Requests: c.asks.forPeople(),
	}
	st.Budget = c.ledger.Report()
	st.Schedules = c.times.Status()
	spent := c.coordination()
	st.Coordination, st.Turns = &spent, c.tally.Sum()
	select {
	case <-c.up:
		st.Up = true
	default:
	}
	owned := map[string][]int{} // the places of each member's tasks
	for i := range all {
		owned[all[i].Owner] = append(owned[all[i].Owner], i)
	}
	var names []string
	for _, s := range c.seats() {
		m := c.memberStatus(s, owned[s.member.Name], all)
		m.Unread = unread[s.member.Name]
		st.FailOpen += m.FailedOpen
		st.Members = append(st.Members, m)
		names = append(names, m.Name)
	}
	for i, copy := range c.trees.Status(ctx, names) {
		st.Members[i].Worktree = copy
	}
	return st, nil
}

// memberStatus is one member as `covey ps` shows it. own are the places of the tasks that
// it owns.
func (c *crew) memberStatus(s *seat, own []int, all []tasks.Outline) MemberStatus {
	ran := c.live.Tallies.Of(s.member.Name)
	c.mu.Lock()
	defer c.mu.Unlock()
	done, login := c.tally.Of(s.member.Name), c.logins.State(s.member.Name)
	m := MemberStatus{
		Name: s.member.Name, Lead: s.member.Lead, Agent: roster.AgentTitle(s.member.CurrentAgent()),
		State: s.state(), Doing: s.watch.doing,
		Turn: s.watch.turn, Attention: cmp.Or(s.gone, s.attention), Refusals: s.watch.refusals,
		Turns: done.Turns, Empty: done.Empty,
		FailedOpen: ran.FailedOpen(), Hooks: ran.Noteworthy(),
		Tokens: done.Usage.Total(), TokensUnknown: done.UsageUnknown,
	}
	if !s.idle {
		m.Pass = s.watch.pass
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
	if m.State != Resting {
		m.WaitsFor = cmp.Or(login.Waits, s.aside)
	}
	if now := c.clock.Now(); s.holdsBack(now) {
		m.WaitsFor = login.Lockout.RetryText(now)
	}
	if awaits := c.asks.awaits(s.member.Name); s.idle && s.gone == "" && awaits != "" {
		m.WaitsFor = awaits
	}
	if m.State == Held {
		m.WaitsFor = "covey resume " + s.member.Name
	}
	m.Held = s.held()
	m.Limits, m.CostUSD = c.ledger.ReportOf(s.member.Name)
	m.Background = c.background.Commands(s.member.Name)
	if m.State == Resting && m.WaitsFor == "" && s.crew.background.MayWake(s.member.Name) {
		m.WaitsFor = "hook " + m.Background[0]
	}
	if m.State == Limited {
		m.LimitedUntil = login.Lent
		if login.Lockout != nil {
			m.LimitedUntil = login.Lockout.Until
		}
	}
	return m
}
