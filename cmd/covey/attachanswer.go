package main

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/coveyteam/covey/orchestrator"
)

// answerLine reads a line by which a person who is attached answers a question:
// ":approve ID [TEXT]" or ":deny ID [TEXT]". A colon, because what begins
// with a slash is a command for the member. ok is false for any other line,
// which is for the member, and also when only the first word is close: a text
// that was meant for a member must not answer anything.
func answerLine(text string) (a orchestrator.InboxAnswer, ok bool) {
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

// answer answers a question from the typed line. It must be named: while a person
// types, the question on the screen may have given way to another.
func (a *attachment) answer(ctx context.Context, text string, with orchestrator.InboxAnswer) tea.Msg {
	if with.ID == "" {
		return sentMsg{"not answered: name the request, by its id or the end of it", text}
	}
	r, err := a.client.AnswerInbox(ctx, with)
	if err != nil {
		return sentMsg{fmt.Sprintf("not answered: %v", err), text}
	}
	return sentMsg{text: answeredText(r)}
}
