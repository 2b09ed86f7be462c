package events

import (
	"time"

	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// The committed changes of the store.
type (
	// TaskChanged is sent for each change of a task, and for a change that was refused or waits.
	TaskChanged struct{ tasks.Change }
	// MessageSent is sent when a message is in the mailbox of its receiver.
	MessageSent struct{ mail.Message }
	// MessageDelivered is sent when the receiver's transcript has the message.
	MessageDelivered struct{ tasks.Delivery }
	// RequestChanged is sent when a request is made and when it is closed.
	RequestChanged struct{ requests.Request }
	// MergeChanged is sent for each step of finished work on its way into its branch.
	MergeChanged struct{ tasks.Merge }
)

// Type implements Data.
func (TaskChanged) Type() string { return "task" }

// Type implements Data.
func (MessageSent) Type() string { return "message" }

// Type implements Data.
func (MessageDelivered) Type() string { return "message_delivered" }

// Type implements Data.
func (RequestChanged) Type() string { return "request" }

// Type implements Data.
func (MergeChanged) Type() string { return "merge" }

// Stored returns the event of a committed change. Changes of the operator have no member, as
// their data say who acted.
func Stored(c tasks.Event) Event {
	e := Event{Time: c.Time, Member: c.Member, Store: c.ID}
	if e.Member == actors.Operator {
		e.Member = ""
	}
	switch data := c.Data.(type) {
	case tasks.Change:
		e.Data = TaskChanged{data}
	case mail.Message:
		e.Data = MessageSent{data}
	case tasks.Delivery:
		e.Data = MessageDelivered{data}
	case requests.Request:
		e.Data = RequestChanged{data}
	case tasks.Merge:
		e.Data = MergeChanged{data}
	}
	return e
}

// Change returns the committed change that an event tells of.
func (e Event) Change() tasks.Event {
	c := tasks.Event{ID: e.Store, Time: e.Time, Member: e.Member}
	switch data := e.Data.(type) {
	case TaskChanged:
		c.Data = data.Change
	case MessageSent:
		c.Data = data.Message
	case MessageDelivered:
		c.Data = data.Delivery
	case RequestChanged:
		c.Data = data.Request
	case MergeChanged:
		c.Data = data.Merge
	}
	return c
}

// GateAsked is sent before the hooks of a gate run: of Stop, TaskCompleted or TeammateIdle, at
// a turn end, at a call that completes a task, or at a merge. The lines of its hooks have the
// same ToolUseID and do not name the task.
type GateAsked struct {
	Event     string `json:"event"`
	ToolUseID string `json:"tool_use_id"`
	TaskID    string `json:"task_id,omitempty"` // of TaskCompleted
	Merge     string `json:"merge,omitempty"`   // id of the merge that it judges
}

// Type implements Data.
func (GateAsked) Type() string { return "gate" }

// VerdictReused is sent when a gate was not run, because it already passed exactly the
// same files.
type VerdictReused struct {
	Task    string    `json:"task"`
	Command string    `json:"command"`
	Tree    string    `json:"tree"`   // git tree of the files
	Judged  time.Time `json:"judged"` // when the gate ran
}

// Type implements Data.
func (VerdictReused) Type() string { return "verdict_reused" }

// VerdictFound is sent when a gate has judged files whose tree is known. Its hook's line of
// type hook_finished follows.
type VerdictFound struct {
	Task    string `json:"task"` // or the branch of a merge without a task
	Command string `json:"command"`
	Tree    string `json:"tree"`   // git tree of the files
	Moment  string `json:"moment"` // task or merge
	Pass    bool   `json:"pass"`
}

// Type implements Data.
func (VerdictFound) Type() string { return "verdict" }

// WorkHinted is sent when finished work has been looked at: once it is finished, and again when its
// merge brings something else than before.
type WorkHinted struct {
	Merge  string       `json:"merge"` // id of the merge
	Tasks  []string     `json:"tasks"`
	Commit string       `json:"commit"`
	Hints  []hints.Hint `json:"hints"`            // marks first
	Brings []string     `json:"brings,omitempty"` // ids of the other merges whose work its merge brings
	Size   hints.Size   `json:"size,omitzero"`
}

// Type implements Data.
func (WorkHinted) Type() string { return "work_hints" }

// TaskUnchanged is sent when a task is completed but its member's working copy has no
// change for it, so that there is nothing to merge.
type TaskUnchanged struct {
	Task    string `json:"task_id"`
	Subject string `json:"subject"`
}

// Type implements Data.
func (TaskUnchanged) Type() string { return "task_unchanged" }

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

// Type implements Data.
func (TargetMoved) Type() string { return "target_moved" }

// WorktreeChanged is sent when a member's working copy is created, adopted, removed, kept or
// rescued.
type WorktreeChanged struct {
	Op     string `json:"op"` // created, adopted, removed, kept, rescued
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`   // created: the commit that it starts from
	Ref    string `json:"ref,omitempty"`    // rescued: the reference that keeps the work
	Reason string `json:"reason,omitempty"` // adopted, kept: why
}

// Type implements Data.
func (WorktreeChanged) Type() string { return "worktree" }
