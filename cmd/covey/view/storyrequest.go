package view

import (
	"fmt"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// requestText tells of a question, and how a person answers it. One that was
// withdrawn was never anybody's business.
func requestText(_ journal.Line, p payload) (string, term.Style) {
	who := byWhom(p.By)
	switch requests.State(p.State) {
	case requests.Open:
		if p.To == actors.Operator {
			return fmt.Sprintf("asks you: %s\n  :approve %s or :deny %s answers in attach; covey inbox elsewhere",
				p.Text, p.ID, p.ID), term.Yellow
		}
		return fmt.Sprintf("asks %s: %s", p.To, p.Text), term.Normal
	case requests.Approved:
		return fmt.Sprintf("%s request of %s approved by %s%s", p.Kind, p.Member, who, said(p.Feedback)), term.Green
	case requests.Denied:
		return fmt.Sprintf("%s request of %s denied by %s%s", p.Kind, p.Member, who, said(p.Feedback)), term.Yellow
	case requests.Expired:
		return fmt.Sprintf("%s request of %s was not answered in time", p.Kind, p.Member), term.Yellow
	}
	return "", term.Normal
}

// said is what somebody said with an answer.
func said(feedback string) string {
	if feedback == "" {
		return ""
	}
	return ": " + feedback
}
