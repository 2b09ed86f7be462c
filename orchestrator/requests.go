package orchestrator

import (
	"encoding/json"
	"time"

	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/schedule"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks"
)

// MemberState says what a member does, for `ps`.
type MemberState string

// The states of members. A member that waits for a person or another member
// is Working, and MemberStatus.WaitsFor says for what.
const (
	Starting       MemberState = "starting"
	Working        MemberState = "working"
	Resting        MemberState = "idle"
	Waiting        MemberState = "waiting" // for what WaitsFor says, before its turn
	Limited        MemberState = "limited" // its agent's usage limit is reached
	LoggedOut      MemberState = "logged out"
	NeedsAttention MemberState = "needs attention"
	Held           MemberState = "held" // until it is resumed or the operator writes to it
	Ended          MemberState = "ended"
)

// Status is a running team as `covey ps` shows it. ReadStatus gives the same
// for a team that does not run.
type Status struct {
	Team      string         `json:"team"`
	Goal      string         `json:"goal"`
	Workspace string         `json:"workspace"`
	Spec      string         `json:"spec"`
	PID       int            `json:"pid,omitempty"` // 0: not running
	Up        bool           `json:"up"`            // all members have started
	Started   time.Time      `json:"started"`
	Elapsed   time.Duration  `json:"elapsed_ns"` // since Started; of the whole run when it has ended
	Members   []MemberStatus `json:"members"`    // the lead first
	Tasks     TaskCounts     `json:"tasks"`
	Attached  int            `json:"attached"` // operators attached now
	Seq       uint64         `json:"seq"`      // last line of the journal
	FailOpen  int            `json:"failed_open"`
	Requests  int            `json:"requests"` // questions that wait for a person: `covey inbox`
	// Coordination is what the lead has spent on notices in this run; nil for a
	// team that does not run.
	Coordination *budget.Coordination `json:"coordination,omitempty"`
	Turns        journal.TurnCount    `json:"turns"`            // of this run, or of the last one
	Result       *state.RunResult     `json:"result,omitempty"` // of the last run; nil while one runs
	// Schedules are those of the running team, in file order.
	Schedules []schedule.Status `json:"schedules,omitempty"`
	// Budget is what is used of the team's budget, over all runs.
	Budget []journal.BudgetUse `json:"budget,omitempty"`
}

// MemberStatus is one member in a Status.
type MemberStatus struct {
	Name       string      `json:"name"`
	Lead       bool        `json:"lead"`
	Agent      string      `json:"agent"` // builtin/script, …
	State      MemberState `json:"state"`
	Doing      string      `json:"doing,omitempty"` // the tool call or hook under way, one line
	Turn       int         `json:"turn"`            // counts from 1; 0 before the first
	Pass       int         `json:"pass"`            // of this turn, from 1; 0 between turns
	Task       string      `json:"task,omitempty"`  // id of the task in progress with the lowest id
	Subject    string      `json:"task_subject,omitempty"`
	WaitsFor   string      `json:"waits_for,omitempty"` // for people: "task 3 (api)", "nothing", …
	Attention  string      `json:"attention,omitempty"` // why it needs attention
	Held       bool        `json:"held,omitempty"`      // it begins no turn until it is resumed; it may be in one yet
	Unread     int         `json:"unread"`
	Turns      int         `json:"turns"`       // in this run
	Empty      int         `json:"empty_turns"` // those of them that did nothing
	Refusals   int         `json:"refusals"`    // by gates, in this run
	FailedOpen int         `json:"failed_open"` // hooks that failed and let it pass, in this run
	Tokens     int64       `json:"tokens"`
	// TokensUnknown: its agent program did not tell all that it used; Tokens is
	// what it told.
	TokensUnknown bool `json:"tokens_unknown,omitempty"`
	// Background are the hooks that run though nobody waits for them.
	Background []string `json:"background_hooks,omitempty"`
	// Worktree is its working copy; nil: it works in the workspace, or the team does not
	// run.
	Worktree *trees.Status `json:"worktree,omitempty"`
	// Hooks are those that failed and let it pass, and those that only observed and
	// would have done something.
	Hooks []hooklist.Count `json:"hooks,omitempty"`
	// Limits are how much is used of its own limits, over all runs.
	Limits []journal.BudgetUse `json:"limits,omitempty"`
	// CostUSD is what it has cost, over all runs, in US dollars as far as it is known.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// LimitedUntil is when a member of state Limited tries again.
	LimitedUntil time.Time `json:"limited_until,omitzero"`
}

// TaskCounts counts the team's tasks. Ready and Blocked are parts of Pending.
type TaskCounts struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Ready      int `json:"ready"`
	Blocked    int `json:"blocked"`
}

// Total is the number of tasks.
func (c TaskCounts) Total() int { return c.Pending + c.InProgress + c.Completed }

// TaskCreate asks for a new task.
type TaskCreate struct {
	Subject     string                     `json:"subject"`
	Description string                     `json:"description,omitempty"`
	ActiveForm  string                     `json:"active_form,omitempty"`
	Owner       string                     `json:"owner,omitempty"`
	BlockedBy   []string                   `json:"blocked_by,omitempty"`
	Labels      []string                   `json:"labels,omitempty"`
	Wants       tasks.Wants                `json:"wants,omitzero"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	As          string                     `json:"as,omitempty"` // member to act for; empty: the caller
	Force       bool                       `json:"force,omitempty"`
}

// Deleted is the status that deletes a task in a TaskUpdate.
const Deleted tasks.Status = "deleted"

// TaskUpdate asks for changes of a task. Nil and empty fields change nothing.
type TaskUpdate struct {
	ID           string                     `json:"id"`
	Status       *tasks.Status              `json:"status,omitempty"` // or Deleted
	Subject      *string                    `json:"subject,omitempty"`
	Description  *string                    `json:"description,omitempty"`
	ActiveForm   *string                    `json:"active_form,omitempty"`
	Owner        *string                    `json:"owner,omitempty"` // "" takes the owner away
	AddBlocks    []string                   `json:"add_blocks,omitempty"`
	AddBlockedBy []string                   `json:"add_blocked_by,omitempty"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"` // merged; null deletes a key
	Evidence     []tasks.Evidence           `json:"evidence,omitempty"` // added; By and Time are not the caller's to say
	As           string                     `json:"as,omitempty"`
	Force        bool                       `json:"force,omitempty"` // past gates and limits; operator only
}

// TaskClaim asks to make a member the owner of a task and to start it.
type TaskClaim struct {
	ID    string `json:"id"`
	As    string `json:"as,omitempty"` // who is to own it; a member may leave it out
	Force bool   `json:"force,omitempty"`
}

// TaskReply is a task after a change.
type TaskReply struct {
	Task    tasks.Task `json:"task"`
	Changed []string   `json:"changed,omitempty"` // names of the fields that changed
	// Refused is the feedback of the hooks that refused the change; the task is
	// then as it was.
	Refused []string `json:"refused,omitempty"`
	// Awaits says for whose answer the change waits; the task is unchanged then, too.
	Awaits string `json:"awaits,omitempty"`
}

// Send asks to give a text to a member. It is the operator's prompt, or mail
// of the member that sends it.
type Send struct {
	To      string `json:"to"` // a member, or "*" for all but the sender
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
	// WaitFor are ids of tasks: the text is read once all of them are done.
	WaitFor []string `json:"wait_for,omitempty"`
	// As must be empty or the caller's own name: a message is from who sends
	// it. A Handler finds the sender's name here.
	As string `json:"as,omitempty"`
}

// Delivery says what became of a sent text.
type Delivery string

// The two answers to a Send. Either way the text is stored.
const (
	Delivered Delivery = "delivered" // the member begins a turn with it, or sees it in the running one
	Queued    Delivery = "queued"    // the member gets it when it can take turns again
)

// SendReply answers a Send.
type SendReply struct {
	Delivery Delivery `json:"delivery"`
	IDs      []string `json:"ids"` // of the stored messages, one per recipient
	// RequestID and Message are what came of a structured message: it asked for
	// something, or answered who did.
	RequestID string `json:"request_id,omitempty"`
	Message   string `json:"message,omitempty"`
}

// TeamCall asks for one call of a team tool, from a process that has no token
// and is known by the kernel: `covey mcp`.
type TeamCall struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
	// Request names the call, so that a repeat of it is known as one; empty:
	// see callBook.
	Request string `json:"request,omitempty"`
	As      string `json:"as,omitempty"` // must be empty or the caller's own name
}

// TeamAnswer is what a call of a team tool came to.
type TeamAnswer struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"` // an object with the same facts
	IsError    bool            `json:"is_error,omitempty"`
}

// InterruptRequest asks for the turn of a member to be ended. The member is held then,
// unless it is to go on.
type InterruptRequest struct {
	Member string `json:"member"`
	GoOn   bool   `json:"go_on,omitempty"`
}

// InterruptReply answers the request to interrupt a member.
type InterruptReply struct {
	Interrupted bool `json:"interrupted"` // false: it was in no turn
	Held        bool `json:"held"`        // it begins no other turn until it is resumed
	Turn        int  `json:"turn"`
	// Retries says that it was locked out by a usage limit or a missing login,
	// and tries again now.
	Retries bool `json:"retries,omitempty"`
}

// Down asks the team to end.
type Down struct {
	Reason string `json:"reason,omitempty"`
}

// DownReply says that the team is ending.
type DownReply struct {
	PID int `json:"pid"`
}

// AttachReply says where an attached client begins.
type AttachReply struct {
	Seq     uint64 `json:"seq"`     // last line of the journal now
	Journal string `json:"journal"` // the file to read it from
	Counted bool   `json:"counted"` // the caller is a person who can be asked
}
