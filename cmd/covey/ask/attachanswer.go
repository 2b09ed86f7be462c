package ask

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
)

// answerLine parses a typed line that answers a question: ":approve ID [TEXT]" or
// ":deny ID [TEXT]". It begins with a colon because a slash begins commands for the
// member. ok is false for any other line, also for one with a similar first word: a
// text meant for a member must not answer anything.
func answerLine(text string) (a api.InboxAnswer, ok bool) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch verb {
	case ":approve":
		a.Approve = true
	case ":deny":
	default:
		return a, false
	}
	a.ID, a.Feedback, _ = strings.Cut(strings.TrimSpace(rest), " ")
	a.Feedback = strings.TrimSpace(a.Feedback)
	return a, true
}

// attachHelp is the output of :help. It fits the status line of 80 columns.
const attachHelp = ":approve ID [TEXT] · :deny ID [TEXT] · :interrupt · :hold · :resume · :help"

// runCommand executes a line that begins with a colon. Such a line is never sent to
// the member: a mistyped command must not become a prompt.
func (a *attachment) runCommand(ctx context.Context, text string) view.Answer {
	if with, ok := answerLine(text); ok {
		return a.answer(ctx, text, with)
	}
	word, rest, _ := strings.Cut(text, " ")
	// Such a command may name another member than the one that is shown.
	to := cmp.Or(strings.TrimSpace(rest), a.member)
	switch word {
	case ":help":
		return view.Answer{Text: attachHelp}
	case ":interrupt":
		reply, err := a.client.Interrupt(ctx, api.InterruptRequest{Member: to})
		if err != nil {
			return view.Answer{Text: fmt.Sprintf("not interrupted: %v", err), Unsent: text}
		}
		return view.Answer{Text: interruptText(to, reply)}
	case ":hold", ":resume":
		reply, err := a.client.Hold(ctx, api.HoldRequest{Member: to, Resume: word == ":resume"})
		if err != nil {
			return view.Answer{Text: fmt.Sprintf("not done: %v", err), Unsent: text}
		}
		return view.Answer{Text: holdText(reply)}
	}
	return view.Answer{Text: "there is no " + word + ": " + attachHelp, Unsent: text}
}

// answer answers a question from the typed line. The line must name the question,
// because the one on the screen may change while the operator types.
func (a *attachment) answer(ctx context.Context, text string, with api.InboxAnswer) view.Answer {
	if with.ID == "" {
		return view.Answer{Text: "not answered: name the request by its id, such as r7", Unsent: text}
	}
	r, err := a.client.AnswerInbox(ctx, with)
	if err != nil {
		return view.Answer{Text: fmt.Sprintf("not answered: %v", err), Unsent: text}
	}
	return view.Answer{Text: answeredText(r)}
}
