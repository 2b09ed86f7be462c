package view

import (
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Request is a question, an approval, a plan, a merge or a need for attention, open or
// answered. Its texts are cut to one line, and it has no Payload.
type Request struct {
	requests.Request
	Asked    uint64 `json:"asked_seq"`              // number of the line with which it was asked
	Answered uint64 `json:"answered_seq,omitempty"` // of that with which it was closed
	// Awaits says whose answer Member waits for; empty: it does not wait.
	Awaits string `json:"awaits,omitempty"`
}

// Letter is a message between members, or from covey or a person. Its text is in the line Line.
type Letter struct {
	Line      uint64    `json:"line"`
	ID        string    `json:"id"`
	From      string    `json:"from"` // empty: covey
	To        string    `json:"to"`
	Kind      mail.Kind `json:"kind"`
	Summary   string    `json:"summary"`
	Sent      time.Time `json:"sent"`
	Delivered time.Time `json:"delivered,omitzero"` // zero: it is unread
	WaitFor   []string  `json:"wait_for,omitempty"` // tasks that have to be completed first
}

// Merge is one piece of finished work on its way into its branch. Its gates are those of
// State.Gates with its id.
type Merge struct {
	tasks.Merge
	Steps []Step `json:"steps,omitempty"` // the oldest first
}

// Step is a change of the state of a Merge.
type Step struct {
	Seq    uint64           `json:"seq"`
	Time   time.Time        `json:"time"`
	State  tasks.MergeState `json:"state"`
	Reason string           `json:"reason,omitempty"`
	By     string           `json:"by,omitempty"`
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
	// Deadline is when the request is answered without a person; zero: never.
	Deadline time.Time `json:"deadline,omitzero"`
}

// NeedKind says what a Need is.
type NeedKind string

// The kinds of needs.
const (
	NeedsAnswer   NeedKind = "request" // an open request to the operator
	NeedsMerge    NeedKind = "merge"   // finished work that nobody has asked to merge
	NeedsDecision NeedKind = "held"    // a held merge
	NeedsHelp     NeedKind = "member"  // a member that needs attention or has to log in
)
