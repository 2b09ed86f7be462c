package crew

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// Store keys for messages that the director must not repeat.
const (
	keyTold     = "told"     // the impasse that the lead was last told of
	keyReported = "reported" // the finished list that the lead reported on
)

// director runs the crew's loop: after every change it takes a snapshot of the team, asks
// plan.Next for moves, and carries them out. Only the loop's goroutine uses it.
type director struct {
	purpose  Purpose
	c        *Crew
	told     string
	reported string
	resting  *plan.Move      // why the team is at rest; nil: it is not
	tasks    *plan.TaskIndex // as of the last scene
	seen     uint64          // the state of the store that tasks was updated to
	kept     []kept          // members that a replay keeps waiting in the last scene
}

// maxSleep bounds how long the loop sleeps before it reads the clock again, because
// timers stop while a machine sleeps and clocks are set.
const maxSleep = time.Minute

// recall restores what an earlier run told the lead.
func (d *director) recall(ctx context.Context) error {
	store := d.c.deps.Store
	return errors.Join(tasks.ReadValue(ctx, store, keyTold, &d.told), tasks.ReadValue(ctx, store, keyReported, &d.reported))
}

// direct runs the loop until the team finishes or ctx ends.
func (d *director) direct(ctx context.Context) (plan.Move, error) {
	if d.purpose.Setup {
		return d.atSetup(ctx)
	}
	for {
		// What time and vacated seats have changed is stored before the snapshot is taken,
		// so that one round sees it all. An error here means that the store has failed, and
		// ends the team.
		for _, p := range d.c.timers {
			if err := p.Due(ctx); err != nil {
				return plan.Move{}, err
			}
		}
		if err := d.c.fillVacated(ctx); err != nil {
			return plan.Move{}, err
		}
		s, moves, err := d.round(ctx)
		if err != nil {
			return plan.Move{}, err
		}
		var later <-chan time.Time
		if len(moves) > 0 && d.c.deps.Stalled != nil && d.c.deps.Stalled() {
			moves, later = nil, d.c.deps.Clock.After(stalledEvery)
		}
		for _, m := range moves {
			// A team that stays up, or that its operator holds, rests here, too, until something
			// happens; only a limit ends it.
			if m.Kind == plan.Finish && (!d.c.deps.StaysUp() && !m.Held || m.Limit) {
				if judged, err := d.judge(ctx, m); err != nil {
					return plan.Move{}, err
				} else if judged {
					continue
				}
				d.announce(ctx, m)
				return m, nil
			}
			if err := d.carryOut(ctx, m); err != nil {
				return plan.Move{}, err
			}
		}
		d.c.deps.Watch.RecordDue(s, nil)
		// One poke may stand for many changes. None is missed, because each round takes a
		// new scene.
		select {
		case <-d.c.deps.Loop.Poked():
		case <-d.changed(s):
		case <-later:
		case order := <-d.c.deps.Loop.Orders():
			order.Do(ctx)
		case <-ctx.Done():
			return plan.Move{}, context.Cause(ctx)
		}
	}
}

// stalledEvery is the time between two looks whether a team that stands still can go on.
const stalledEvery = time.Second

// round takes a snapshot and decides on moves. It runs after every change, so its cost
// must stay linear in the size of the team, and must not grow with the list of tasks.
func (d *director) round(ctx context.Context) (plan.Scene, []plan.Move, error) {
	s, err := d.scene(ctx)
	if err != nil {
		return s, nil, err
	}
	moves, err := d.keepOn(ctx, s, plan.Next(s))
	d.c.deps.Watch.RecordDue(s, moves)
	return s, moves, err
}

// scene takes a snapshot of the team. It reads first which members are idle: what a member did
// before it became idle is then committed, so the scene never reports a busy member as idle. It
// asks the parts before it reads the mail: a question that is answered in between then shows up as
// mail.
//
// All that is read after the seats may have changed since. That is harmless: a change pokes the
// loop, and the next round sees it.
func (d *director) scene(ctx context.Context) (plan.Scene, error) {
	s := plan.Scene{LastImpasse: d.told, LastReport: d.reported}
	seats := d.c.deps.Seats.All()
	s.Seats = make([]plan.Seat, len(seats))
	for i, m := range seats {
		s.Seats[i] = m.view()
	}
	all := d.c.deps.Seats.Members()
	for _, p := range d.c.describers {
		p.Describe(&s, all)
	}
	changes, err := d.c.deps.Store.Changed(ctx, d.seen)
	if err != nil {
		return s, err
	}
	if d.tasks == nil {
		d.tasks = plan.IndexTasks(nil)
	}
	d.tasks.Update(changes)
	d.seen = changes.Now
	s.Merging = d.c.deps.Merges.Follow(changes)
	d.tasks.Merge(s.Merging)
	s.Use(d.tasks)
	for _, member := range d.c.deps.Asks.Attention.ClearSolved(&s, d.c.deps.Ledger.Raised) {
		d.c.deps.Asks.Attention.WithdrawQuestion(ctx, member)
	}
	if err := d.c.deps.Board.ViewMail(ctx, s.Seats, func(i int) *mail.Received { return &seats[i].received }); err != nil {
		return s, err
	}
	if err := d.pace(ctx, &s, seats); err != nil {
		return s, err
	}
	s.LiftHolds()
	return s, nil
}

// carryOut carries out one move.
//
// The scene may be out of date by now: a task may have been claimed, or mail be obsolete. A
// move that no longer applies is skipped and the loop poked. An error ends the team; only
// the loop removes seats, so a member without one is a fault of covey.
func (d *director) carryOut(ctx context.Context, m plan.Move) error {
	s, ok := d.c.deps.Seats.Of(m.Member)
	if !ok && m.Member != "" {
		return fmt.Errorf("%s: %w", m.Member, api.ErrNoMember)
	}
	switch m.Kind {
	case plan.GiveMail:
		return d.handMail(ctx, s)
	case plan.GiveGoOn:
		return d.handRetry(ctx, s)
	case plan.GiveNotes:
		return d.handNotes(ctx, s)
	case plan.WaitLimit:
		d.c.deps.Logins.TellOfWait(m.Mark, events.TeamWaits{Until: m.Until, Members: m.Names})
	case plan.GiveClaim:
		return d.handClaim(ctx, s, m.Tasks[0])
	case plan.GiveQuestions:
		return d.handQuestions(ctx, s, m.Mark)
	case plan.GiveNudge:
		d.hand(s, teammate.Work{Cause: events.ByNudge, Inputs: []agent.Input{
			{Kind: agent.FromCovey, Text: teamtools.NamesFor(s.Member.CurrentAgent()).NudgeText(m.Tasks)},
		}}, m.Mark)
	case plan.NeedAttention:
		d.c.deps.Asks.Attention.Stuck(s.Member.Name, plan.Fingerprint(m.Tasks))
		d.c.deps.Asks.Attention.Ignores(s.Member.Name, m.Mark)
		return d.c.giveUpOn(ctx, s, m.Reason, "")
	case plan.GiveLast:
		d.handLast(s)
	case plan.GiveUp:
		d.c.deps.Ledger.GiveUp(s.Member.Name)
		return d.c.giveUpOn(ctx, s, m.Reason, events.AttentionLimit)
	case plan.TellLead:
		// The mark is the impasse: the lead is told of each once, also over restarts.
		return d.mailLeadOnce(ctx, keyTold, m.Mark, plan.TellText(m))
	case plan.AskReport:
		return d.askForReport(ctx, m.Mark)
	case plan.Finish:
		// A team that stays up comes here in each round at rest; people are told only of
		// the first.
		before := d.resting
		d.resting = &m
		if before == nil {
			d.announce(ctx, m)
		}
	}
	return nil
}

// changed returns a channel that fires when a scene has changed although nothing has happened, or
// after maxSleep; nil if it does not change.
func (d *director) changed(s plan.Scene) <-chan time.Time {
	if s.Changes == nil {
		return nil
	}
	return d.c.deps.Clock.After(min(*s.Changes, maxSleep))
}

// announce fires the Notification hooks when the team comes to rest.
func (d *director) announce(ctx context.Context, m plan.Move) {
	n := hooks.NotificationInput{
		Message: d.c.deps.Team().Name + " is waiting for your input", NotificationType: "idle_prompt",
	}
	if !d.c.deps.StaysUp() && !m.Held {
		if !m.Done {
			return // members that need attention were reported before
		}
		n = hooks.NotificationInput{
			Message: d.c.deps.Team().Name + " has completed its work", NotificationType: "agent_completed",
		}
	}
	if lead := d.c.deps.Seats.Lead(); lead.Life.State().Gone == "" {
		d.c.notify(ctx, lead, n)
	}
}

// atSetup waits until every session has begun, and then ends a run that only prepares the
// workspace.
func (d *director) atSetup(ctx context.Context) (plan.Move, error) {
	select {
	case <-d.c.up:
		return plan.Move{Kind: plan.Finish, Done: true, Reason: prepared}, nil
	case <-ctx.Done():
		return plan.Move{}, context.Cause(ctx)
	}
}
