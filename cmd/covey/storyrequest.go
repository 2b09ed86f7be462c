package main

import (
	"fmt"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/tasks"
)

// requestText tells of a question, and how a person answers it. One that was
// withdrawn was never anybody's business.
func requestText(_ journal.Line, p payload) (string, style) {
	who := byWhom(p.By)
	switch tasks.RequestState(p.State) {
	case tasks.RequestOpen:
		if p.To == tasks.Operator {
			return fmt.Sprintf("asks you: %s\n  :approve %s or :deny %s answers in attach; covey inbox elsewhere",
				p.Text, p.ID, p.ID), yellow
		}
		return fmt.Sprintf("asks %s: %s", p.To, p.Text), normal
	case tasks.RequestApproved:
		return fmt.Sprintf("%s request of %s approved by %s%s", p.Kind, p.Member, who, said(p.Feedback)), green
	case tasks.RequestDenied:
		return fmt.Sprintf("%s request of %s denied by %s%s", p.Kind, p.Member, who, said(p.Feedback)), yellow
	case tasks.RequestExpired:
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
