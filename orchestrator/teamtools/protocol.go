package teamtools

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Besides texts, members send each other structured messages (TEAMS.md 4): they
// ask a member to leave, or approve a plan or a piece of work. A request is
// stored in one transaction with the mail that it causes, so that it survives a
// restart and is answered once. The callers, SendMessage and `covey send`, have
// verified the actor.

// sendStructured carries out a message that is not a text.
func (b *TaskAPI) sendStructured(ctx context.Context, me Actor, w parsedMessage) (SentAnswer, error) {
	a := SentAnswer{Success: true, Request: w.answer.ID, RefID: w.answer.ID}
	switch w.kind {
	case mail.ShutdownAsked:
		return b.askToEnd(ctx, me, w)
	case mail.ModeSet:
		return b.changeMode(ctx, me, w)
	case shutdownAnswered:
		a.Message = shutdownAnswerText(me.Name, b.names()[0], w.answer)
		return a, b.answerShutdown(ctx, me, w.answer)
	}
	a.Message = approvalText(w)
	_, err := b.deps.Requests.Answer(ctx, me.Actor, w.answer, requests.AskPlan, requests.AskApproval, requests.AskMerge)
	return a, err
}

// answerShutdown records a member's answer to a shutdown request. A member that
// agrees ends after this call.
//
// Only the member itself can answer, because only it knows whether its work can
// be left as it is. People can end it without a request, as the error says.
func (b *TaskAPI) answerShutdown(ctx context.Context, by Actor, a inbox.Answer) error {
	if by.Name == actors.Operator {
		return texts.Errorf(tasks.ErrNotAsked, "request %s asks a member to end, and only the member answers that; "+
			"`covey down --member NAME --now` does not ask", a.ID)
	}
	_, err := b.deps.Requests.Answer(ctx, by.Actor, a, requests.AskShutdown)
	return err
}

// askToEnd sends a shutdown request to one member.
func (b *TaskAPI) askToEnd(ctx context.Context, me Actor, w parsedMessage) (SentAnswer, error) {
	to, err := b.recipient(me, w.to)
	if err != nil {
		return SentAnswer{}, err
	}
	r, err := b.AskToEnd(ctx, me.Actor, to, EndOptions{Reason: cmp.Or(w.text, w.summary)})
	if err != nil {
		return SentAnswer{}, fmt.Errorf("ask %s to end: %w", to, err)
	}
	return SentAnswer{
		Success: true, Message: fmt.Sprintf("Shutdown request sent to %s. Request ID: %s", to, r.ID),
		Request: r.ID, RefID: r.ID, Target: to,
	}, nil
}

// shutdownLimit is the default time to answer.
const shutdownLimit = 2 * time.Minute

// EndOptions describes how a member is asked to end.
type EndOptions struct {
	Reason string
	Wait   time.Duration // until it is ended without an answer; 0: two minutes
}

// AskToEnd asks a member to end. The request has a key, so a second request to the same
// member returns the first.
//
// The default answer is yes: a member that does not answer by the deadline leaves anyway.
// A function makes the mail, because the request has no id before it is stored.
func (b *TaskAPI) AskToEnd(ctx context.Context, by actors.Actor, to string, f EndOptions) (requests.Request, error) {
	if err := b.MayEnd(by, to); err != nil {
		return requests.Request{}, err
	}
	if f.Wait < 0 {
		return requests.Request{}, texts.Errorf(tasks.ErrInvalid, "it cannot have %s to answer; give it some time", f.Wait)
	}
	why := ""
	if f.Reason != "" {
		why = ": " + texts.Preview(f.Reason, 4000)
	}
	wait := cmp.Or(f.Wait, shutdownLimit)
	return b.deps.Requests.Ask(ctx, by, requests.New{
		Kind: requests.AskShutdown, Member: by.Name, To: to, Key: "end/" + to, Default: true,
		Wait: wait, Text: fmt.Sprintf("%s asks %s to end%s", by.Name, to, why),
		Payload: texts.Encode(inbox.Payload{Reason: f.Reason}),
		Mail: func(r requests.Request) mail.Outgoing {
			now := b.deps.Clock.Now()
			return mail.Outgoing{
				Kind: mail.ShutdownAsked, Text: r.Text, Summary: mail.Summary(r.Text), Data: texts.Encode(mail.ShutdownRequest{
					Type: mail.ShutdownAsked, RequestRef: mail.Ref(r.ID), From: r.Member, Reason: f.Reason,
					Deadline: now.Add(wait), Timestamp: now,
				}),
			}
		},
	})
}

// MayEnd returns an error if by may not ask a member to end, or it cannot be ended this way. The
// error says what to do instead.
//
// Only the lead, who assigns the work, and people, who own the team, may end members.
func (b *TaskAPI) MayEnd(by actors.Actor, to string) error {
	m, ok := b.deps.Members.Member(to)
	_, gone := b.deps.Members.Now(to)
	switch lead := b.names()[0]; {
	case !ok:
		return b.NoSeat(to)
	case m.Lead:
		return texts.Errorf(tasks.ErrInvalid, "%s is the lead, and a team without its lead has nobody to report; "+
			"`covey down` ends the team", to)
	case by.Name != lead && by.Name != actors.Operator:
		return texts.Errorf(tasks.ErrNotAsked, "only the lead and people may ask a member to end; tell %s why %s should", lead, to)
	case gone != "":
		return texts.Errorf(tasks.ErrInvalid, "%s has left already: %s", to, gone)
	}
	return nil
}

// changeMode gives one member another permission mode.
func (b *TaskAPI) changeMode(ctx context.Context, me Actor, w parsedMessage) (SentAnswer, error) {
	to, err := b.recipient(me, w.to)
	if err == nil {
		err = b.setMode(ctx, me.Actor, to, w.answer.Mode)
	}
	if err != nil {
		return SentAnswer{}, err
	}
	return SentAnswer{Success: true, Message: fmt.Sprintf("%s has permission mode %s now.", to,
		w.answer.Mode), Target: to}, nil
}

// setMode gives a member another permission mode, from its next call on, for its session
// and across restarts. The lead may give at most what the spec allows, a person anything.
// A spec that changes the member's mode takes precedence.
func (b *TaskAPI) setMode(ctx context.Context, by actors.Actor, to, mode string) error {
	person := by.Name == actors.Operator
	if lead := b.names()[0]; !person && by.Name != lead {
		return texts.Errorf(api.ErrDenied, "only %s, who leads the team, or a person can change a permission mode", lead)
	}
	m, ok := b.deps.Members.Member(to)
	if err := inbox.MayHaveMode(person || !ok, m, mode); err != nil {
		return err
	}
	switch {
	case !ok:
		return b.NoSeat(to)
	case b.deps.Plans.MustPlan(m):
		return texts.Errorf(api.ErrDenied, "%s must plan first; the answer to its plan may name a mode", to)
	}
	if err := b.deps.Plans.GiveMode(ctx, m, mode); err != nil {
		return err
	}
	// The mode holds already when the member reads of it. If the mail fails, the caller
	// gets the error although the mode was changed, and may repeat the call.
	_, err := b.deps.Store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{to}, Kind: mail.ModeSet, Text: "Your permission mode is " + mode + " from now on.",
		Data: texts.Encode(mail.ModeChange{Type: mail.ModeSet, From: by.Name, Mode: mode, Timestamp: b.deps.Clock.Now()}),
	})
	return err
}

// shutdownAnswerText tells a member the effect of its answer to a shutdown
// request.
func shutdownAnswerText(me, lead string, a inbox.Answer) string {
	if a.Approve {
		return fmt.Sprintf("Shutdown approved. Sent confirmation to %s. Agent %s is now exiting.", lead, me)
	}
	return fmt.Sprintf("Shutdown rejected. Reason: %q. Continuing to work.", a.Text)
}

// approvalText tells the approver the effect of its answer.
func approvalText(w parsedMessage) string {
	what := "Plan"
	if w.kind == mail.ApprovalAnswered {
		what = "Work"
	}
	switch {
	case w.answer.Approve:
		return what + " approved. Its author goes on."
	case w.answer.Text == "":
		return what + " rejected. Its author is told, without feedback: say what is missing."
	}
	return fmt.Sprintf("%s rejected with feedback: %q", what, w.answer.Text)
}
