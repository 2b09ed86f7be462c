package port

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// This file answers from the Home of a member what its node asks and reports.

// answer answers a request.
func (a *Afar) answer(ctx context.Context, in Ask) (out Answered, err error) {
	home := a.seat.Home
	switch {
	case in.Waiting:
		out.Waiting, err = home.Inbox.Waiting(ctx)
	case in.Standing:
		out.Standing = Standing{OnHold: home.OnHold(), Crons: home.Crons(), Present: home.Asker.Present()}
		out.Standing.InProgress, err = home.Tasks.InProgress(ctx, in.Member)
	case in.Taken != nil:
		err = home.Inbox.Taken(ctx, *in.Taken)
	case in.Admit != nil:
		err = a.admit(ctx, *in.Admit)
	case in.Left != nil:
		err = home.Purse.Left(*in.Left)
	case in.Passed != nil:
		if closer, ok := home.Tasks.(teammate.TaskCloser); ok {
			err = closer.Passed(ctx, in.Passed.Tasks)
		}
	case in.Tool != nil:
		out.Tool, err = home.Tool(ctx, *in.Tool)
	case in.Question != nil:
		out.Answer = a.asked(ctx, *in.Question)
	case in.Verdict != nil:
		out.Verdict = a.judge(ctx, *in.Verdict)
	case in.Lines != nil:
		out.Lines, err = readLines(a.seat.Transcript, *in.Lines)
	default:
		err = fmt.Errorf("a request of %s asks nothing that this covey knows", in.Member)
	}
	return out, err
}

// admit waits until a turn may begin, or ends it.
func (a *Afar) admit(ctx context.Context, begins bool) error {
	if !begins {
		a.admitted(nil)
		return nil
	}
	release, err := a.seat.Home.Inbox.Admit(ctx)
	if err == nil {
		a.admitted(release)
	}
	return err
}

// admitted ends the slot of a turn, and begins that of the next one; nil: there is none.
func (a *Afar) admitted(release func()) {
	a.mu.Lock()
	was := a.release
	a.release = release
	a.mu.Unlock()
	if was != nil {
		was()
	}
}

// asked asks whether a call may run.
func (a *Afar) asked(ctx context.Context, q Question) Answer {
	asker := a.seat.Home.Asker
	if q.Unbegun {
		r, ok := asker.(agent.Reminder)
		return Answer{Unbegun: ok && r.Unbegun(ctx, q.Question.Call.ID)}
	}
	q.Question.Member = a.seat.Member
	return Answer{Answer: asker.Ask(ctx, q.Question)}
}

// judge asks a gate about this member, whatever the node says.
func (a *Afar) judge(ctx context.Context, v Verdict) Judged {
	in := hooks.Input{Common: hooks.Common{SessionID: a.seat.Session}, Payload: hooks.RawPayload{Name: v.Event}}
	if v.Task != nil {
		v.Task.TeammateName = a.seat.Member
		in.Payload = *v.Task
	}
	if v.Completing {
		ctx = inbox.Completing(ctx, a.seat.Member)
	}
	result := a.seat.Home.Policy(ctx, v.Gate, in)
	ask := result.Wait
	if ask == nil || ask.Ask == nil {
		return Judged{Result: result}
	}
	if v.Asks {
		return Judged{Result: ask.Ask(ctx)}
	}
	return Judged{result, true}
}

// tell processes what a member has reported that does not depend on its life. An event is the member's, whatever
// the node says, and no change of the store.
func (a *Afar) tell(ctx context.Context, number uint64, r Report) error {
	switch {
	case r.Event != nil:
		e := r.Event.Event()
		a.seat.Home.Sink(events.Event{Member: a.seat.Member, Turn: e.Turn, Helper: e.Helper, Report: number, Data: e.Data})
	case r.Hook != nil:
		a.seat.Home.OnBackgroundHook(*r.Hook)
	case r.Notice != nil:
		return a.seat.Home.PostNotice(ctx, r.Notice.ID, r.Notice.Text)
	}
	return nil
}

// report processes a report of this life.
func (a *Afar) report(ctx context.Context, number uint64, r Report) error {
	switch {
	case r.Spent != nil:
		a.seat.Home.Purse.Spend(r.Spent.Usage, r.Spent.USD)
	case r.State != nil:
		a.mu.Lock()
		a.state = *r.State
		a.mu.Unlock()
		a.seat.Changed()
	case r.Lines != nil:
		return r.Lines.write(a.seat.Transcript)
	case r.Idle != nil:
		select {
		case <-a.idle: // an older one
		default:
		}
		a.idle <- *r.Idle
	case r.Ended != nil:
		select {
		case a.ended <- *r.Ended:
		default:
		}
	case r.Copy != nil:
		return a.take(ctx, *r.Copy)
	default:
		return a.tell(ctx, number, r)
	}
	return nil
}
