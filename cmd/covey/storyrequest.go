package main

import (
	"fmt"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// requestText tells of a question, and how a person answers it. One that was
// withdrawn was never anybody's business.
func requestText(_ journal.Line, p payload) (string, style) {
	who := byWhom(p.By)
	switch requests.State(p.State) {
	case requests.Open:
		if p.To == actors.Operator {
			return fmt.Sprintf("asks you: %s\n  :approve %s or :deny %s answers in attach; covey inbox elsewhere",
				p.Text, p.ID, p.ID), yellow
		}
		return fmt.Sprintf("asks %s: %s", p.To, p.Text), normal
	case requests.Approved:
		return fmt.Sprintf("%s request of %s approved by %s%s", p.Kind, p.Member, who, said(p.Feedback)), green
	case requests.Denied:
		return fmt.Sprintf("%s request of %s denied by %s%s", p.Kind, p.Member, who, said(p.Feedback)), yellow
	case requests.Expired:
		return fmt.Sprintf("%s request of %s was not answered in time", p.Kind, p.Member), yellow
	}
	return "", normal
}

// said is what somebody said with an answer.
func said(feedback string) string {
	if feedback == "" {
		return ""
	}
	return ": " + feedback
}
