package view

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// requestText describes a question, and how the operator answers it. A question that
// was withdrawn has no text.
func requestText(p requests.Request) (string, term.Style) {
	who := inbox.AnswererName(p.By)
	switch p.State {
	case requests.Open:
		// The line before has said why a member needs attention.
		if _, how, ok := strings.Cut(p.Text, "\n("); ok && p.Kind == requests.AskAttention {
			p.Text = "what now (" + how
		}
		if p.To == actors.Operator {
			return fmt.Sprintf("asks you: %s\n  answer with covey attach, or covey inbox approve %s or deny %s",
				p.Text, p.ID, p.ID), term.Yellow
		}
		return fmt.Sprintf("asks %s: %s", p.To, p.Text), term.Normal
	case requests.Approved:
		return fmt.Sprintf("%s request of %s approved by %s%s", p.Kind, p.Member, who, withFeedback(p.Feedback)), term.Green
	case requests.Denied:
		return fmt.Sprintf("%s request of %s denied by %s%s", p.Kind, p.Member, who, withFeedback(p.Feedback)), term.Yellow
	case requests.Expired:
		return fmt.Sprintf("%s request of %s was not answered in time", p.Kind, p.Member), term.Yellow
	}
	return "", term.Normal
}

// withFeedback formats the feedback of an answer.
func withFeedback(feedback string) string {
	if feedback == "" {
		return ""
	}
	return ": " + feedback
}
