package teamtools

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
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
	r, err := b.deps.Commands.AskToEnd(ctx, me.Actor, to, cmp.Or(w.text, w.summary))
	if err != nil {
		return SentAnswer{}, err
	}
	return SentAnswer{
		Success: true, Message: fmt.Sprintf("Shutdown request sent to %s. Request ID: %s", to, r.RequestID),
		Request: r.RequestID, RefID: r.RequestID, Target: to,
	}, nil
}

// changeMode gives one member another permission mode.
func (b *TaskAPI) changeMode(ctx context.Context, me Actor, w parsedMessage) (SentAnswer, error) {
	to, err := b.recipient(me, w.to)
	if err == nil {
		err = b.deps.Commands.SetMode(ctx, me.Actor, to, w.answer.Mode)
	}
	if err != nil {
		return SentAnswer{}, err
	}
	return SentAnswer{Success: true, Message: fmt.Sprintf("%s has permission mode %s now.", to,
		w.answer.Mode), Target: to}, nil
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
