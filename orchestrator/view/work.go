package view

import (
	"time"

	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Request is a question, an approval, a plan, a merge or a need for attention, open or
// answered. Its texts are cut to one line. It has its Payload only while it is an open plan or form of
// at most 64 KiB.
type Request struct {
	requests.Request
	Asked    uint64 `json:"asked_seq"`              // number of the line with which it was asked
	Answered uint64 `json:"answered_seq,omitempty"` // of that with which it was closed
	// Awaits is whose answer Member waits for; empty: it does not wait.
	Awaits string `json:"awaits,omitempty"`
	// Task is the task whose completion or merge it is about, and Commit the work to merge; empty: none.
	Task   string `json:"task,omitempty"`
	Commit string `json:"commit,omitempty"`
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
	Steps []Step       `json:"steps,omitempty"` // the oldest first
	Hints []hints.Hint `json:"hints,omitempty"` // what a reviewer should look at first, marks first
	Size  hints.Size   `json:"size,omitzero"`   // what its merge changes; zero: nobody has looked yet
	// Brings are the ids of the other merges whose work its merge brings.
	Brings []string `json:"brings,omitempty"`
}

// Step is a change of the state of a Merge.
type Step struct {
	Seq    uint64           `json:"seq"`
	Time   time.Time        `json:"time"`
	State  tasks.MergeState `json:"state"`
	Reason string           `json:"reason,omitempty"`
	By     string           `json:"by,omitempty"`
}
