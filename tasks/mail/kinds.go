package mail

import "time"

// The kinds of messages that members and covey exchange in addition to text,
// assignments and notices (TEAMS.md 4). The names are those of other agent hosts, so
// that models know them.
const (
	// Broadcast is text for all other members.
	Broadcast Kind = "broadcast"
	// IdleNotification means that a member's turn is over; Data is an IdleNote.
	IdleNotification Kind = "idle_notification"
	// ShutdownAsked asks the receiver to end; Data is a ShutdownRequest.
	ShutdownAsked Kind = "shutdown_request"
	// ShutdownApproved and ShutdownRejected answer it; Data is an Answer.
	ShutdownApproved Kind = "shutdown_approved"
	ShutdownRejected Kind = "shutdown_rejected"
	// PlanAsked asks the receiver to approve a plan; Data is a PlanRequest.
	PlanAsked Kind = "plan_approval_request"
	// PlanAnswered answers it; Data is an Answer.
	PlanAnswered Kind = "plan_approval_response"
	// ApprovalAsked asks the receiver whether a task's work is acceptable; Data is an
	// ApprovalRequest. ApprovalAnswered answers it; Data is an Answer.
	ApprovalAsked    Kind = "approval_request"
	ApprovalAnswered Kind = "approval_response"
	// QuestionAsked asks the receiver something; Data is a Question. The next text to its
	// author answers it.
	QuestionAsked Kind = "question"
	// PermissionAsked reports a call that waits for a person; Data is a
	// PermissionRequest. PermissionAnswered answers it; Data is an Answer.
	PermissionAsked    Kind = "permission_request"
	PermissionAnswered Kind = "permission_response"
	// ModeSet tells a member that its permission mode has changed; Data is a
	// ModeChange.
	ModeSet Kind = "mode_set_request"
	// Terminated means that a member has left; Data is a Termination.
	Terminated Kind = "teammate_terminated"
)

// RequestRef names a request in both spellings that hosts use; an answer may have
// either.
type RequestRef struct {
	RequestID string `json:"requestId"`
	Request   string `json:"request_id"`
}

// Ref returns the reference of a request.
func Ref(id string) RequestRef { return RequestRef{RequestID: id, Request: id} }

// IdleNote is the Data of an idle_notification.
type IdleNote struct {
	Type       Kind      `json:"type"`
	From       string    `json:"from"`
	Timestamp  time.Time `json:"timestamp"`
	IdleReason string    `json:"idleReason"` // available, failed, interrupted, limited or stopped
	Summary    string    `json:"summary,omitempty"`
	Result     string    `json:"result,omitempty"` // the last text of the turn, shortened to the limit of a note
	// CompletedTaskID is the last task that the turn completed; CompletedStatus is
	// then "completed".
	CompletedTaskID string `json:"completedTaskId,omitempty"`
	CompletedStatus string `json:"completedStatus,omitempty"`
	// CompletedTaskIDs are all completed tasks, if there are several.
	CompletedTaskIDs []string `json:"completedTaskIds,omitempty"`
	FailureReason    string   `json:"failureReason,omitempty"`
	TaskIDs          []string `json:"taskIds,omitempty"`        // the member's tasks in progress
	Background       []string `json:"backgroundWork,omitempty"` // what runs in the background, for people
}

// ShutdownRequest is the Data of a shutdown_request.
type ShutdownRequest struct {
	Type Kind `json:"type"`
	RequestRef
	From      string    `json:"from"`
	Reason    string    `json:"reason,omitempty"`
	Deadline  time.Time `json:"deadline,omitzero"` // when the member is stopped if it does not answer; zero: never
	Timestamp time.Time `json:"timestamp"`
}

// PlanRequest is the Data of a plan_approval_request.
type PlanRequest struct {
	Type Kind `json:"type"`
	RequestRef
	From         string    `json:"from"`
	Plan         string    `json:"plan,omitempty"` // empty if PlanFilePath is set
	PlanFilePath string    `json:"planFilePath,omitempty"`
	Timestamp    time.Time `json:"timestamp"`
}

// ApprovalRequest is the Data of an approval_request.
type ApprovalRequest struct {
	Type Kind `json:"type"`
	RequestRef
	From      string    `json:"from"` // the author of the work
	TaskID    string    `json:"taskId"`
	Subject   string    `json:"subject"`
	Timestamp time.Time `json:"timestamp"`
}

// Question is the Data of a question.
type Question struct {
	Type Kind `json:"type"`
	RequestRef
	From      string    `json:"from"`
	Question  string    `json:"question"`
	Timestamp time.Time `json:"timestamp"`
}

// Answer is the Data of all messages that answer a request.
type Answer struct {
	Type Kind `json:"type"`
	RequestRef
	From           string    `json:"from"`
	Approved       bool      `json:"approve"`
	Reason         string    `json:"reason,omitempty"`   // for a shutdown or permission
	Feedback       string    `json:"feedback,omitempty"` // on a plan or on work
	PermissionMode string    `json:"permissionMode,omitempty"`
	Timestamp      time.Time `json:"timestamp"`
}

// HookCall is the Data of a HookMessage: the hook call that produced it.
type HookCall struct {
	Event     string `json:"event"`
	ToolUseID string `json:"tool_use_id"`
	Command   string `json:"command"`
	// Feedback means that a hook of a turn end refused the end after the turn was
	// over.
	Feedback bool `json:"feedback,omitempty"`
}

// ModeChange is the Data of a mode_set_request.
type ModeChange struct {
	Type      Kind      `json:"type"`
	From      string    `json:"from"`
	Mode      string    `json:"mode"`
	Timestamp time.Time `json:"timestamp"`
}

// Termination is the Data of a teammate_terminated.
type Termination struct {
	Type      Kind      `json:"type"`
	From      string    `json:"from"` // the member that has left
	Reason    string    `json:"reason,omitempty"`
	TaskIDs   []string  `json:"taskIds,omitempty"` // tasks that are open again
	Timestamp time.Time `json:"timestamp"`
}
