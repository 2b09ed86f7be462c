package view

import (
	"time"

	"github.com/coveyteam/covey/tasks"
)

// Task is one entry of the team's list, with its history. The texts of tasks.Task are cut:
// Description and evidence to one line, and long metadata are left out.
type Task struct {
	tasks.Task
	Deleted bool `json:"deleted,omitempty"`
	// First is the number of the first line that names it.
	First uint64 `json:"first"`
	// Last is the number of the last line that names it, or of the last line of its owner
	// while it is in progress.
	Last uint64 `json:"last"`
	// Lines are the numbers of the lines that name it: its changes, its verdicts, its merges.
	Lines []uint64 `json:"lines,omitempty"`
	// Spans are the parts of the journal in which somebody worked on it. The lines of
	// Span.Member in a span are the conversation of the task.
	Spans  []Span  `json:"spans,omitempty"`
	Owners []Owned `json:"owners,omitempty"`
	// Returns is how often and why it did not pass, the oldest first.
	Returns []Return `json:"returns,omitempty"`
	// Awaits is whose answer its completion waits for.
	Awaits    string    `json:"awaits,omitempty"`
	Completed time.Time `json:"completed,omitzero"`
	Merges    []string  `json:"merges,omitempty"` // ids of the merges of its work
	// Refusals counts the refusals by hooks, and SentBack the returns, also those that Returns has dropped.
	Refusals int `json:"refusals"`
	// SentBack counts how often its finished work was not accepted: by a person, a member that had to approve
	// it, or where it was to be merged.
	SentBack int `json:"sent_back,omitempty"`
	// Work is what became of its newest work; empty: it has none.
	Work tasks.MergeState `json:"work,omitempty"`
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
	Owner string `json:"owner"`
	// By is who gave the task to its owner; the owner itself if it claimed the task; empty:
	// covey.
	By    string    `json:"by,omitempty"`
	Epoch uint64    `json:"epoch"` // at the beginning
	Since time.Time `json:"since"`
	// Claimed is when the task first went in progress with this owner; zero: it did not.
	Claimed time.Time `json:"claimed,omitzero"`
	// Until is when the owner lost or completed it, and End is the change that did that; zero
	// and empty: it still owns the task.
	Until time.Time `json:"until,omitzero"`
	End   string    `json:"end,omitempty"`
}

// Return is a completion that was not accepted, or work that was given up or sent back.
type Return struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Kind is refused (by hooks), released (by By), returned (by the merge queue), or sent back (by a
	// person, or a member that had to approve it).
	Kind   string `json:"kind"`
	Member string `json:"member,omitempty"` // whose work it is, or who wanted to complete it
	Turn   int    `json:"turn,omitempty"`   // of Member
	By     string `json:"by,omitempty"`     // the hooks that refused, or who released it
	Reason string `json:"reason"`
}
