package view

import (
	"time"

	"github.com/coveyteam/covey/tasks"
)

// Task is one entry of the team's list, with its history. The texts of tasks.Task are cut:
// Description and evidence to one line, and long metadata are left out.
type Task struct {
	tasks.Task
	Deleted bool   `json:"deleted,omitempty"`
	First   uint64 `json:"first"` // number of the first line that names it
	Last    uint64 `json:"last"`  // of the last one, or the last line of its owner while it is in progress
	// Lines are the numbers of the lines that name it: its changes, its verdicts, its merges.
	Lines []uint64 `json:"lines,omitempty"`
	// Spans are the parts of the journal in which somebody worked on it. The lines of
	// Span.Member in a span are the conversation of the task.
	Spans  []Span  `json:"spans,omitempty"`
	Owners []Owned `json:"owners,omitempty"`
	// Returns says how often and why it did not pass, the oldest first.
	Returns []Return `json:"returns,omitempty"`
	// Awaits says whose answer its completion waits for.
	Awaits    string    `json:"awaits,omitempty"`
	Completed time.Time `json:"completed,omitzero"`
	// Unchanged is set if it was completed without a change to a file.
	Unchanged bool     `json:"unchanged,omitempty"`
	Merges    []string `json:"merges,omitempty"` // ids of the merges of its work
	Refusals  int      `json:"refusals"`         // all, also those that Returns has dropped
	// Spent is the share of its owners' usage in the turns of Spans. A turn with several
	// tasks in progress counts in equal parts for each.
	Spent Spent `json:"spent"`
}

// Span is a part of one turn of a member, in which a task was its own and in progress.
type Span struct {
	Member string `json:"member"`
	Turn   int    `json:"turn"`
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
}

// Owned is a time in which a task belonged to one member.
type Owned struct {
	Owner   string    `json:"owner"`
	By      string    `json:"by,omitempty"` // who gave it; the owner itself if it claimed the task; empty: covey
	Epoch   uint64    `json:"epoch"`        // at its beginning
	Since   time.Time `json:"since"`
	Claimed time.Time `json:"claimed,omitzero"` // when it went in progress first
	Until   time.Time `json:"until,omitzero"`   // zero: it still owns the task
	End     string    `json:"end,omitempty"`    // the change that ended it: completed, released, updated, claimed, deleted
}

// Return is a completion that was not accepted, or work that was given up or sent back.
type Return struct {
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`             // refused: by hooks; released: by By; returned: by the merge queue
	Member string    `json:"member,omitempty"` // whose work it is, or who wanted to complete it
	Turn   int       `json:"turn,omitempty"`   // of Member
	By     string    `json:"by,omitempty"`     // the hooks that refused, or who released it
	Reason string    `json:"reason"`
}
