package api

import (
	"context"
	"time"

	"github.com/coveyteam/covey/tasks/requests"
)

// The verbs about questions. Everybody may read them. Only the operator may
// answer, because otherwise a member's process could approve the member's own
// requests.
var (
	VerbInbox  = forAll[InboxQuery, []requests.Request]("inbox")
	VerbNeeds  = forAll[struct{}, []Need]("needs")
	VerbAnswer = forOperator[InboxAnswer, requests.Request]("inbox-answer")
)

// InboxMost is how many questions a list has at most, because the bus limits the size of an answer.
const InboxMost = 200

// InboxQuery selects questions.
type InboxQuery struct {
	ID  string `json:"id,omitempty"`  // a question's id, or the member that asks; empty for a list
	All bool   `json:"all,omitempty"` // include the closed questions that are still kept
}

// InboxAnswer is a person's answer to a question.
type InboxAnswer struct {
	ID       string `json:"id"`
	Approve  bool   `json:"approve"`
	Feedback string `json:"feedback,omitempty"`
	// Mode is the permission mode granted with an approved plan; empty: the
	// member's own.
	Mode string `json:"mode,omitempty"`
}

// Inbox lists the open questions, and with All also the closed ones. A list omits
// long payloads.
func (c *Client) Inbox(ctx context.Context, q InboxQuery) ([]requests.Request, error) {
	return ask(ctx, c, VerbInbox, q)
}

// Needs lists what only a person can do besides answering questions.
func (c *Client) Needs(ctx context.Context) ([]Need, error) {
	return ask(ctx, c, VerbNeeds, struct{}{})
}

// AnswerInbox answers a question. It fails with tasks.ErrAnswered if the question
// has been answered; the error names who answered it.
func (c *Client) AnswerInbox(ctx context.Context, a InboxAnswer) (requests.Request, error) {
	return ask(ctx, c, VerbAnswer, a)
}

// Need is something that only a person can do.
type Need struct {
	Kind   NeedKind      `json:"kind"`
	ID     string        `json:"id"`             // of the request or the merge; the member's name
	Member string        `json:"member"`         // who waits for it, or whose work it is
	Asks   requests.Kind `json:"asks,omitempty"` // what the request asks for
	Task   string        `json:"task,omitempty"` // whose work it is about; empty: of none
	Text   string        `json:"text"`
	Since  time.Time     `json:"since"`
	// Deadline is when the request is answered without a person, by Default; zero: never.
	Deadline time.Time `json:"deadline,omitzero"`
	Default  bool      `json:"default,omitempty"`
	// Again means that to merge the work asks a question again that nobody has answered in time.
	Again bool `json:"again,omitempty"`
	// Marks are words for what a reviewer should look at first in the work of Task.
	Marks []string `json:"marks,omitempty"`
}

// NeedKind describes what a Need is.
type NeedKind string

// The kinds of needs.
const (
	NeedsAnswer   NeedKind = "request" // an open request to the operator
	NeedsMerge    NeedKind = "merge"   // finished work that nobody has asked to merge
	NeedsDecision NeedKind = "held"    // a held merge
	NeedsHelp     NeedKind = "member"  // a member that needs attention or has to log in
)
