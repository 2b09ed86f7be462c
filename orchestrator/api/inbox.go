package api

import (
	"context"

	"github.com/coveyteam/covey/tasks/requests"
)

// The verbs about questions. Everybody may look; only the operator answers, because a process under a
// member could else approve what its own member asks for (DESIGN 8).
var (
	VerbInbox  = forAll[InboxQuery, []requests.Request]("inbox")
	VerbAnswer = forOperator[InboxAnswer, requests.Request]("inbox-answer")
)

// InboxQuery says which questions are wanted.
type InboxQuery struct {
	ID  string `json:"id,omitempty"`  // its id, or who asks; empty: a list
	All bool   `json:"all,omitempty"` // also those that are closed, as far as they are kept
}

// InboxAnswer is what a person says to a question.
type InboxAnswer struct {
	ID       string `json:"id"`
	Approve  bool   `json:"approve"`
	Feedback string `json:"feedback,omitempty"`
	// Mode is the permission mode that goes with an approved plan; empty: the
	// member's own.
	Mode string `json:"mode,omitempty"`
}

// Inbox lists the questions that wait for an answer; with All, also those that
// are closed. Long payloads are left out of a list.
func (c *Client) Inbox(ctx context.Context, q InboxQuery) ([]requests.Request, error) {
	return ask(ctx, c, VerbInbox, q)
}

// AnswerInbox answers a question. It fails with tasks.ErrAnswered when somebody
// was faster, and says who.
func (c *Client) AnswerInbox(ctx context.Context, a InboxAnswer) (requests.Request, error) {
	return ask(ctx, c, VerbAnswer, a)
}
