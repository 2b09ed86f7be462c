package merging

import (
	"context"
	"fmt"
	"time"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// VerdictReused is sent when a gate was not run, because it already passed exactly the
// same files.
type VerdictReused struct {
	Task    string    `json:"task"`
	Command string    `json:"command"`
	Tree    string    `json:"tree"`   // git tree of the files
	Judged  time.Time `json:"judged"` // when the gate ran
}

// EventType returns the event's name in the journal.
func (VerdictReused) EventType() string { return "verdict_reused" }

// VerdictFound is sent when a gate has judged files whose tree is known. Its hook's line of
// type hook_finished follows.
type VerdictFound struct {
	Task    string `json:"task"` // or the branch of a merge without a task
	Command string `json:"command"`
	Tree    string `json:"tree"`   // git tree of the files
	Moment  string `json:"moment"` // task or merge
	Pass    bool   `json:"pass"`
}

// EventType returns the event's name in the journal.
func (VerdictFound) EventType() string { return "verdict" }

// TaskUnchanged is sent when a task is completed but its member's working copy has no
// change for it, so that there is nothing to merge.
type TaskUnchanged struct {
	Task    string `json:"task_id"`
	Subject string `json:"subject"`
}

// EventType returns the event's name in the journal.
func (TaskUnchanged) EventType() string { return "task_unchanged" }

// TargetMoved is sent when covey finds that a target branch or the operator's checkout has changed
// without the merge queue, and for what became of that.
type TargetMoved struct {
	Op      string `json:"op"`               // one of the constants below
	Branch  string `json:"branch,omitempty"` // the target branch; .git: the settings for checkouts; empty: it is about the checkout
	From    string `json:"before,omitempty"` // a commit, or what the checkout was on
	To      string `json:"now,omitempty"`
	Member  string `json:"member,omitempty"`  // who made commits that came in
	Request string `json:"request,omitempty"` // the question to the operator; until its answer nothing is merged into Branch
	Text    string `json:"text"`              // all of it, for people
}

// The values of TargetMoved.Op.
const (
	MovedOutside    = "moved"    // by the operator, or by what covey does not know
	MovedByMember   = "held"     // to what a member has made, or nobody is known to have made: a question holds the queue
	MoveAccepted    = "accepted" // by the operator
	MoveUndone      = "undone"   // the branch is where it was
	CheckoutChanged = "checkout" // the operator's working copy is on another branch, or has other changes
)

// EventType returns the event's name in the journal.
func (TargetMoved) EventType() string { return "target_moved" }

// unchanged records that a task was completed without a change, and journals it once.
func (d *Desk) unchanged(ctx context.Context, t tasks.Task) error {
	marked, err := tasks.MarkUnchanged(ctx, d.opts.Store, t.ID, t.Version)
	if err != nil {
		return fmt.Errorf("record that task %s changed nothing: %w", t.ID, err)
	}
	if marked {
		d.opts.Journal.Append(agent.Event{Member: t.Owner, Data: TaskUnchanged{Task: t.ID, Subject: t.Subject}})
	}
	return nil
}
