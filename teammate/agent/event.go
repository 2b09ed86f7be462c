package agent

import (
	"encoding/json"
	"time"
)

// Event is something that a member did or that happened to it. It becomes one
// line of the journal (DESIGN 7).
type Event struct {
	Member string
	Turn   int // counts the member's turns from 1; 0 before its first
	// Helper is the id of the member's helper that it happened to; empty: the
	// member itself.
	Helper string
	Data   EventData
}

// EventData is the payload of an Event. Its JSON is the line's data, its
// EventType the line's type.
type EventData interface {
	EventType() string
}

// Sink takes a member's events. It must not block for long and may be called
// from several goroutines.
type Sink func(Event)

// Cause says why a turn began.
type Cause string

// The causes of turns.
const (
	ByGoal    Cause = "goal"
	ByMessage Cause = "message"
	ByTask    Cause = "task"
	ByNudge   Cause = "nudge"
	ByPerson  Cause = "person"
	ByResume  Cause = "resume"
	ByHook    Cause = "hook" // one with asyncRewake, from the background
)

// The events of a member. Field meanings are those of DESIGN 7.
type (
	// MemberStarted is sent once a member's session has begun.
	MemberStarted struct {
		Agent     string `json:"agent"`
		SessionID string `json:"session_id"`
		Resumed   bool   `json:"resumed,omitempty"`
	}
	// MemberEnded is sent when a member takes no more turns.
	MemberEnded struct {
		Reason string `json:"reason"`
	}
	// TurnStarted is sent when a turn begins.
	TurnStarted struct {
		Cause  Cause  `json:"cause"`
		Prompt string `json:"prompt"`
	}
	// PassStarted is sent before each model request of a turn. Pass counts
	// from 1 in every turn.
	PassStarted struct {
		Pass int `json:"pass"`
	}
	// TextSaid is assistant text.
	TextSaid struct {
		Text string `json:"text"`
	}
	// ToolCalled is sent when the agent asks for a tool, before hooks run.
	ToolCalled struct {
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	// ToolReturned carries the result that the model sees.
	ToolReturned struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		IsError bool   `json:"is_error"`
		Content string `json:"content"`
	}
	// HookStarted is sent when a hook process (or other handler) starts.
	HookStarted struct {
		Event     string `json:"event"`
		ToolUseID string `json:"tool_use_id"`
		Command   string `json:"command"`
		Status    string `json:"status,omitempty"` // what people are to read meanwhile (statusMessage)
	}
	// HookFinished is sent when it has ended.
	HookFinished struct {
		Event      string `json:"event"`
		ToolUseID  string `json:"tool_use_id"`
		Command    string `json:"command"`
		Outcome    string `json:"outcome"`
		ExitCode   int    `json:"exit_code"`
		DurationMS int64  `json:"duration_ms"`
		Stdout     string `json:"stdout"`
		Stderr     string `json:"stderr"`
		Warning    string `json:"warning,omitempty"`
		// FailedOpen says that the hook had no say because it could not do its
		// work: what it guards has gone on without it.
		FailedOpen bool `json:"failed_open,omitempty"`
		// Background says that nobody waited for the hook: it ends after what it was
		// fired for, maybe after that turn.
		Background bool `json:"background,omitempty"`
		// Observed is what a hook that only observes would have decided (hooks.Result).
		Observed string `json:"observed,omitempty"`
		// Awaits is whose answer a gate with outcome await waits for.
		Awaits string `json:"awaits,omitempty"`
	}
	// HookFeedback is feedback that goes to the model. Path is turn_end or tool.
	HookFeedback struct {
		Event     string `json:"event"`
		ToolUseID string `json:"tool_use_id"`
		Text      string `json:"text"`
		Path      string `json:"path"`
	}
	// HookStopped is sent when a hook halted the turn or the member.
	HookStopped struct {
		Event     string `json:"event"`
		ToolUseID string `json:"tool_use_id"`
		Message   string `json:"message"`
	}
	// HookSummary sums up the Stop hooks of one turn end.
	HookSummary struct {
		Count      int          `json:"count"`
		Errors     []string     `json:"errors"`
		Prevented  bool         `json:"prevented"`
		StopReason string       `json:"stop_reason"`
		ToolUseID  string       `json:"tool_use_id"`
		HasOutput  bool         `json:"has_output"`
		Hooks      []HookTiming `json:"hooks"`
	}
	// HookTiming is one hook of a HookSummary.
	HookTiming struct {
		Command    string `json:"command"`
		DurationMS int64  `json:"duration_ms"`
	}
	// TurnEnded is sent when a turn is over. Reason is one of the End constants.
	TurnEnded struct {
		Reason  string  `json:"reason"`
		Usage   Usage   `json:"usage"`
		CostUSD float64 `json:"cost_usd"`
		Passes  int     `json:"passes"`
		// UsageUnknown says that an agent program did not tell all of its usage:
		// Usage is the least that it can have been.
		UsageUnknown bool `json:"usage_unknown,omitempty"`
		// Empty: it made no tool call, said nothing that anybody needed, and changed no
		// task. The team's host says so, who knows what the words were for.
		Empty bool `json:"empty,omitempty"`
	}
	// Idle is sent when a turn is over and the member goes on to wait for work.
	// Reason is one of the Idle constants, TaskIDs are its tasks in progress.
	Idle struct {
		Reason   string   `json:"reason"`
		LastText string   `json:"last_text"`
		TaskIDs  []string `json:"task_ids"`
		// Completed are the tasks that it has completed since it was idle last,
		// Background is what runs on without it, for people.
		Completed  []string `json:"completed_task_ids,omitempty"`
		Background []string `json:"background_work,omitempty"`
	}
	// NeedsAttention is sent when only a person or the lead can help.
	NeedsAttention struct {
		Reason string `json:"reason"`
		// Kind says what it is about where another event tells more of it: "login"
		// after LoggedOut.
		Kind string `json:"kind,omitempty"`
	}
	// Limited is sent when a turn ends because the account behind the agent has
	// used up what its plan allows. What the turn was about is not lost: the
	// member goes on with it at Until.
	Limited struct {
		Agent string    `json:"agent"`          // whose limit it is, as people know the agent
		Until time.Time `json:"until,omitzero"` // when the member tries again
		Known bool      `json:"known"`          // the agent said so; false: covey guesses
		Text  string    `json:"text"`           // what the agent said
	}
	// LoggedOut is sent when a turn ends because the agent is not logged in. The
	// member goes on with it once a person has written to it, or in the next run.
	LoggedOut struct {
		Agent string `json:"agent"`         // as people know the agent
		Hint  string `json:"hint"`          // what the agent said
		Fix   string `json:"fix,omitempty"` // the command that logs in, where one is known
	}
	// TurnFailed is sent when a turn ends because the agent's model, its vendor or its
	// program failed. Where time alone may mend that, the turn is tried again: the
	// member has kept what it was about.
	TurnFailed struct {
		Error   string    `json:"error"`          // the type of the APIError
		Text    string    `json:"text"`           // what the vendor or the program said
		Passing bool      `json:"passing"`        // time alone may mend it
		Failed  int       `json:"failed"`         // how many tries in a row have failed so
		Until   time.Time `json:"until,omitzero"` // when it is tried again; zero: it is not
		Left    int       `json:"left,omitempty"` // how many tries are left, that one included
	}
	// Waiting is sent when a member that has work cannot begin its turn yet.
	Waiting struct {
		For string `json:"for"` // for people: "a slot of codex"
	}
	// PermissionDecided tells how a tool call was decided.
	PermissionDecided struct {
		Tool     string `json:"tool"`
		Decision string `json:"decision"` // allow, deny
		By       string `json:"by"`       // rule, mode, hook, nobody
		Rule     string `json:"rule,omitempty"`
		ID       string `json:"id"`
	}
	// Warning is for people; no model sees it.
	Warning struct {
		Text string `json:"text"`
	}
	// Notified tells of a Notification event.
	Notified struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
)

// EventType is the journal's name for it.
func (MemberStarted) EventType() string { return "member_started" }

// EventType is the journal's name for it.
func (MemberEnded) EventType() string { return "member_ended" }

// EventType is the journal's name for it.
func (TurnStarted) EventType() string { return "turn_started" }

// EventType is the journal's name for it.
func (PassStarted) EventType() string { return "pass_started" }

// EventType is the journal's name for it.
func (TextSaid) EventType() string { return "text" }

// EventType is the journal's name for it.
func (ToolCalled) EventType() string { return "tool_call" }

// EventType is the journal's name for it.
func (ToolReturned) EventType() string { return "tool_result" }

// EventType is the journal's name for it.
func (HookStarted) EventType() string { return "hook_started" }

// EventType is the journal's name for it.
func (HookFinished) EventType() string { return "hook_finished" }

// EventType is the journal's name for it.
func (HookFeedback) EventType() string { return "hook_feedback" }

// EventType is the journal's name for it.
func (HookStopped) EventType() string { return "hook_stopped_continuation" }

// EventType is the journal's name for it.
func (HookSummary) EventType() string { return "hook_summary" }

// EventType is the journal's name for it.
func (TurnEnded) EventType() string { return "turn_ended" }

// EventType is the journal's name for it.
func (Idle) EventType() string { return "idle" }

// EventType is the journal's name for it.
func (NeedsAttention) EventType() string { return "needs_attention" }

// EventType is the journal's name for it.
func (Limited) EventType() string { return "limited" }

// EventType is the journal's name for it.
func (LoggedOut) EventType() string { return "logged_out" }

// EventType is the journal's name for it.
func (TurnFailed) EventType() string { return "turn_failed" }

// EventType is the journal's name for it.
func (Waiting) EventType() string { return "waiting" }

// EventType is the journal's name for it.
func (PermissionDecided) EventType() string { return "permission" }

// EventType is the journal's name for it.
func (Warning) EventType() string { return "warning" }

// EventType is the journal's name for it.
func (Notified) EventType() string { return "notification" }
