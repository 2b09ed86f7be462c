package events

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Cause describes why a turn began.
type Cause string

// The causes of turns.
const (
	ByGoal    Cause = "goal"
	ByMessage Cause = "message"
	ByTask    Cause = "task"
	ByNudge   Cause = "nudge"
	ByPerson  Cause = "person"
	ByResume  Cause = "resume"
	ByHook    Cause = "hook" // a background hook with asyncRewake
)

// WaitKind describes what a member waits for.
type WaitKind string

// The kinds of waits.
const (
	ForSlot   WaitKind = "slot"   // of its agent's login, before or in its turn
	ForAnswer WaitKind = "answer" // to what a call of its turn asks
	ForGates  WaitKind = "gates"  // other gates, before its own or the setup of its working copy
	ForRetry  WaitKind = "retry"  // the next try of a turn that failed in an earlier run
	ForLimit  WaitKind = "limit"  // the end of a usage limit that another member, or an earlier run, has met
	ForLogin  WaitKind = "login"  // a person who logs its agent in
	ForRun    WaitKind = "run"    // the end of a command in its background
	ForHook   WaitKind = "hook"   // a hook in its background that may wake it
)

// The events of a member. Programs read their JSON, so a field may be added, but none is renamed.
type (
	// MemberStarted is sent once a member's session has begun.
	MemberStarted struct {
		Agent     string `json:"agent"`
		SessionID string `json:"session_id"`
		// Resumed means that the agent continues its conversation. It is false for an agent
		// program, which opens its session later and may send FreshSession.
		Resumed bool `json:"resumed,omitempty"`
	}
	// MemberEnded is sent when a member takes no more turns. Again says that it is about to begin
	// another life in this run.
	MemberEnded struct {
		Reason string `json:"reason"`
		Again  bool   `json:"again,omitempty"`
	}
	// TurnStarted is sent when a turn begins.
	TurnStarted struct {
		Cause  Cause  `json:"cause"`
		Prompt string `json:"prompt"`
	}
	// PassStarted is sent before each model request of a turn. Pass counts from 1 in every
	// turn.
	PassStarted struct {
		Pass int `json:"pass"`
	}
	// TextSaid is assistant text.
	TextSaid struct {
		Text string `json:"text"`
	}
	// ToolCalled is sent when the agent calls a tool, before hooks run.
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
		Status    string `json:"status,omitempty"` // text for people while it runs (statusMessage)
	}
	// HookFinished is sent when a hook has ended.
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
		// FailedOpen means that the hook could not do its work and decided nothing: what it
		// guards has continued without it.
		FailedOpen bool `json:"failed_open,omitempty"`
		// Background means that nobody waited for the hook: it may end after its event, and
		// even after the turn.
		Background bool `json:"background,omitempty"`
		// Observed is what a hook that only observes would have decided (hooks.Result).
		Observed string `json:"observed,omitempty"`
		// Awaits is whose answer a gate with outcome await waits for.
		Awaits string `json:"awaits,omitempty"`
	}
	// HookFeedback is feedback that goes to the model. Path is turn_end or tool. TaskID is
	// the task that a TaskCompleted hook judged at a turn end.
	HookFeedback struct {
		Event     string `json:"event"`
		ToolUseID string `json:"tool_use_id"`
		Text      string `json:"text"`
		Path      string `json:"path"`
		TaskID    string `json:"task_id,omitempty"`
	}
	// HookStopped is sent when a hook halted the turn or the member.
	HookStopped struct {
		Event     string `json:"event"`
		ToolUseID string `json:"tool_use_id"`
		Message   string `json:"message"`
	}
	// HookSummary summarizes the Stop hooks of one turn end.
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
		Reason  string      `json:"reason"`
		Usage   agent.Usage `json:"usage"`
		CostUSD float64     `json:"cost_usd"`
		Passes  int         `json:"passes"`
		// ModelFailed means that a model request failed, which the Reason completed does not tell.
		ModelFailed bool `json:"model_failed,omitempty"`
		// UsageUnknown means that an agent program did not report all of its usage: Usage is
		// a lower bound.
		UsageUnknown bool `json:"usage_unknown,omitempty"`
		// Empty means that the turn made no tool call, had no text that anyone needed, and
		// changed no task. The host of the team sets it.
		Empty bool `json:"empty,omitempty"`
	}
	// Idle is sent when a turn is over and the member waits for work. Reason is one of the
	// Idle constants, and TaskIDs are its tasks in progress.
	Idle struct {
		Reason   string   `json:"reason"`
		LastText string   `json:"last_text"`
		TaskIDs  []string `json:"task_ids"`
		// Completed are the tasks that the member has completed since it was last idle.
		// Background lists its work in the background, for people.
		Completed  []string `json:"completed_task_ids,omitempty"`
		Background []string `json:"background_work,omitempty"`
		// Stopped is which hook has stopped the turn or refused its prompt, and why. A member
		// with unfinished work rests then, and is not reminded of it.
		Stopped string `json:"stopped,omitempty"`
	}
	// NeedsAttention is sent when only a person or the lead can help.
	NeedsAttention struct {
		Reason string `json:"reason"`
		// Kind is what it is about: AttentionLimit, AttentionLogin, or "" for all else.
		Kind string `json:"kind,omitempty"`
	}
	// AttentionOver is sent when a member does not need attention any more.
	AttentionOver struct{}
	// Limited is sent when a turn ends because the account behind the agent has reached the
	// limit of its plan. The inputs of the turn are kept: the member continues with them at
	// Until.
	Limited struct {
		Agent string    `json:"agent"`          // whose limit it is, in words for people
		Until time.Time `json:"until,omitzero"` // when the member tries again
		Known bool      `json:"known"`          // the agent reported Until; false: covey guesses it
		Text  string    `json:"text"`           // what the agent said
	}
	// LoggedOut is sent when a turn ends because the agent is not logged in. The member
	// continues once a person has written to it, or in the next run.
	LoggedOut struct {
		Agent string `json:"agent"`         // in words for people
		Hint  string `json:"hint"`          // what the agent said
		Fix   string `json:"fix,omitempty"` // the command that logs in, if known
		Key   string `json:"key,omitempty"` // what the agent uses in place of a login
	}
	// TurnFailed is sent when a turn ends because the agent's model, its vendor or its program
	// failed. If the error may pass with time, the turn is tried again: the member has kept
	// its inputs.
	TurnFailed struct {
		Error   string    `json:"error"`          // the type of the APIError
		Text    string    `json:"text"`           // what the vendor or the program said
		Passing bool      `json:"passing"`        // the error may pass with time
		Failed  int       `json:"failed"`         // how many tries in a row have failed
		Until   time.Time `json:"until,omitzero"` // when it is tried again; zero: never
		Left    int       `json:"left,omitempty"` // how many tries are left, including that one
		// NoStart means that the agent program ended before it printed anything.
		NoStart bool `json:"no_start,omitempty"`
	}
	// Waiting is sent when a member begins to wait for something that only a part of the team knows.
	// A later one of the same Kind replaces it, and one with an empty For ends it.
	Waiting struct {
		Kind  WaitKind  `json:"kind"`
		For   string    `json:"for"`            // for people: "a slot of codex"
		Until time.Time `json:"until,omitzero"` // when it ends by itself; zero: not known
	}
	// PermissionDecided reports the decision on a tool call.
	PermissionDecided struct {
		Tool     string `json:"tool"`
		Decision string `json:"decision"` // allow, deny
		By       string `json:"by"`       // rule, mode, hook, nobody
		Rule     string `json:"rule,omitempty"`
		ID       string `json:"id"`
		// Of a denied call: the permission mode, if that denied it, and the beginning of what the call
		// would do, as one line.
		Mode string `json:"mode,omitempty"`
		Call string `json:"call,omitempty"`
	}
	// Warning is for people; no model sees it.
	Warning struct {
		Text string `json:"text"`
	}
	// PromptExpanded is sent when a command that a person has typed became a prompt.
	PromptExpanded struct {
		Typed  string `json:"typed"`
		Prompt string `json:"prompt"`
	}
	// Notification reports a Notification event.
	Notification struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
)

// Type implements Data.
func (MemberStarted) Type() string { return "member_started" }

// Type implements Data.
func (MemberEnded) Type() string { return "member_ended" }

// Type implements Data.
func (TurnStarted) Type() string { return "turn_started" }

// Type implements Data.
func (PassStarted) Type() string { return "pass_started" }

// Type implements Data.
func (TextSaid) Type() string { return "text" }

// Type implements Data.
func (ToolCalled) Type() string { return "tool_call" }

// Type implements Data.
func (ToolReturned) Type() string { return "tool_result" }

// Type implements Data.
func (HookStarted) Type() string { return "hook_started" }

// Type implements Data.
func (HookFinished) Type() string { return "hook_finished" }

// Type implements Data.
func (HookFeedback) Type() string { return "hook_feedback" }

// Type implements Data.
func (HookStopped) Type() string { return "hook_stopped_continuation" }

// Type implements Data.
func (HookSummary) Type() string { return "hook_summary" }

// Type implements Data.
func (TurnEnded) Type() string { return "turn_ended" }

// Type implements Data.
func (Idle) Type() string { return "idle" }

// Type implements Data.
func (NeedsAttention) Type() string { return "needs_attention" }

// Type implements Data.
func (AttentionOver) Type() string { return "attention_over" }

// Type implements Data.
func (Limited) Type() string { return "limited" }

// Type implements Data.
func (LoggedOut) Type() string { return "logged_out" }

// Summary returns the limit for people: usage limit of codex reached; it goes on at 15:04.
func (e Limited) Summary(now time.Time) string {
	then := "tries again"
	if e.Known {
		then = "goes on"
	}
	return fmt.Sprintf("usage limit of %s reached; it %s at %s", e.Agent, then, texts.ShortTime(e.Until.Local(), now.Local()))
}

// Summary returns what a person has to do; then is the command that follows the login.
func (e LoggedOut) Summary(then string) string {
	switch {
	case e.Key != "":
		return fmt.Sprintf("the key of %s was refused (%s); correct %s and start the team again", e.Agent, texts.OneLine(e.Hint), e.Key)
	case e.Fix != "":
		return fmt.Sprintf("%s is not logged in; run `%s`, then %s", e.Agent, e.Fix, then)
	}
	return fmt.Sprintf("%s is not logged in (%s); log in with its program, then %s", e.Agent, texts.OneLine(e.Hint), then)
}

// Type implements Data.
func (TurnFailed) Type() string { return "turn_failed" }

// Type implements Data.
func (Waiting) Type() string { return "waiting" }

// Type implements Data.
func (PermissionDecided) Type() string { return "permission" }

// Type implements Data.
func (Warning) Type() string { return "warning" }

// Type implements Data.
func (Notification) Type() string { return "notification" }

// Type implements Data.
func (PromptExpanded) Type() string { return "prompt_expanded" }
