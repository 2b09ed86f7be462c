package hooks

import (
	"encoding/json"

	"github.com/coveyteam/covey/hooks/texts"
)

// Common holds the fields that every hook input begins with, in wire order (HOOKS.md
// section 2). Optional fields that are zero are omitted from the JSON.
type Common struct {
	SessionID      string  // always sent
	TranscriptPath string  // always sent; the file is complete up to this event
	Cwd            string  // always sent; follows the member's working directory
	PromptID       string  // UUID of the prompt that began the turn; empty before the first
	PermissionMode string  // sent only by the events that HOOKS.md section 2 lists
	AgentID        string  // set for teammates and helpers
	AgentType      string  // set for teammates and helpers
	Effort         *Effort // only if the model has it
}

// Effort is the reasoning effort of the model in use.
type Effort struct {
	Level string `json:"level"` // low, medium, high, xhigh or max
}

// Input is what the hooks of one event get: the common fields, then the event's own. It
// marshals to one JSON object with hook_event_name between the two, as recorded hosts send
// it.
type Input struct {
	Common
	Payload Payload
}

// Payload holds the fields of one event that are not common to all. It marshals to a JSON
// object. Event always returns the same value for a type.
type Payload interface {
	Event() Event
}

// SessionStartInput is the payload of SessionStart.
type SessionStartInput struct {
	Source string `json:"source"` // startup, resume, clear, compact or fork
	Model  string `json:"model,omitempty"`
	*ResumeInfo
}

// ResumeInfo holds the additional fields of SessionStart when a session continues.
type ResumeInfo struct {
	SecondsSinceLastResponse float64 `json:"seconds_since_last_response"`
	ContextTokens            int64   `json:"context_tokens"`
	PromptCacheLikelyExpired bool    `json:"prompt_cache_likely_expired"`
	EstimatedCacheWriteUSD   float64 `json:"estimated_cache_write_usd"`
}

// SessionEndInput is the payload of SessionEnd.
type SessionEndInput struct {
	Reason string `json:"reason"` // clear, resume, logout, prompt_input_exit or other
}

// UserPromptSubmitInput is the payload of UserPromptSubmit.
type UserPromptSubmitInput struct {
	Prompt       string `json:"prompt"`
	SessionTitle string `json:"session_title,omitempty"`
}

// MCPServer names the server that an MCP tool comes from.
type MCPServer struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

// PreToolUseInput is the payload of PreToolUse.
type PreToolUseInput struct {
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`
	MCPServer *MCPServer      `json:"mcp_server,omitempty"`
}

// PostToolUseInput is the payload of PostToolUse.
type PostToolUseInput struct {
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"`
	ToolResponse json.RawMessage `json:"tool_response"` // the tool's structured output
	ToolUseID    string          `json:"tool_use_id"`
	DurationMS   int64           `json:"duration_ms"`
	MCPServer    *MCPServer      `json:"mcp_server,omitempty"`
}

// PostToolUseFailureInput is the payload of PostToolUseFailure.
type PostToolUseFailureInput struct {
	ToolName    string          `json:"tool_name"`
	ToolInput   json.RawMessage `json:"tool_input"`
	ToolUseID   string          `json:"tool_use_id"`
	Error       string          `json:"error"` // at most 10,000 characters, cut in the middle
	IsInterrupt bool            `json:"is_interrupt"`
	DurationMS  int64           `json:"duration_ms"`
	MCPServer   *MCPServer      `json:"mcp_server,omitempty"`
}

// StopInput is the payload of Stop. The last two fields are covey's own: the member whose
// turn it is.
type StopInput struct {
	StopHookActive       bool                 `json:"stop_hook_active"`
	LastAssistantMessage string               `json:"last_assistant_message,omitempty"`
	BackgroundTasks      list[BackgroundTask] `json:"background_tasks"`
	SessionCrons         list[SessionCron]    `json:"session_crons"`
	TeammateName         string               `json:"teammate_name,omitempty"`
	TeamName             string               `json:"team_name,omitempty"`
}

// BackgroundTask is work that continues in the background of the conversation.
type BackgroundTask struct {
	ID          string `json:"id"`
	Type        string `json:"type"` // shell, subagent, monitor, workflow, teammate, …
	Status      string `json:"status"`
	Description string `json:"description"`
	Command     string `json:"command,omitempty"`
	AgentType   string `json:"agent_type,omitempty"`
}

// SessionCron is a schedule that the session itself has set up.
type SessionCron struct {
	ID        string `json:"id"`
	Schedule  string `json:"schedule"`
	Recurring bool   `json:"recurring"`
	Prompt    string `json:"prompt"`
}

// StopFailureInput is the payload of StopFailure.
type StopFailureInput struct {
	Error                string `json:"error"` // an error type of HOOKS.md section 6
	ErrorDetails         string `json:"error_details,omitempty"`
	LastAssistantMessage string `json:"last_assistant_message,omitempty"`
}

// TeammateIdleInput is the payload of TeammateIdle.
type TeammateIdleInput struct {
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name"`
}

// TaskInput holds the common fields of the two task events.
type TaskInput struct {
	TaskID          string `json:"task_id"`
	TaskSubject     string `json:"task_subject"`
	TaskDescription string `json:"task_description,omitempty"`
	TeammateName    string `json:"teammate_name,omitempty"`
	TeamName        string `json:"team_name,omitempty"`
	// Evidence is covey's own field: what members offer as proof that the task is done.
	Evidence []TaskEvidence `json:"evidence,omitempty"`
}

// TaskEvidence is a text, or the path of a file with a longer text.
type TaskEvidence struct {
	By   string `json:"by"`
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
}

// TaskCreatedInput is the payload of TaskCreated.
type TaskCreatedInput struct{ TaskInput }

// TaskCompletedInput is the payload of TaskCompleted.
type TaskCompletedInput struct{ TaskInput }

// NotificationInput is the payload of Notification.
type NotificationInput struct {
	Message          string `json:"message"`
	Title            string `json:"title,omitempty"`
	NotificationType string `json:"notification_type"`
}

// Event returns SessionStart.
func (SessionStartInput) Event() Event { return SessionStart }

// Event returns SessionEnd.
func (SessionEndInput) Event() Event { return SessionEnd }

// Event returns UserPromptSubmit.
func (UserPromptSubmitInput) Event() Event { return UserPromptSubmit }

// Event returns PreToolUse.
func (PreToolUseInput) Event() Event { return PreToolUse }

// Event returns PostToolUse.
func (PostToolUseInput) Event() Event { return PostToolUse }

// Event returns PostToolUseFailure.
func (PostToolUseFailureInput) Event() Event { return PostToolUseFailure }

// Event returns Stop.
func (StopInput) Event() Event { return Stop }

// Event returns StopFailure.
func (StopFailureInput) Event() Event { return StopFailure }

// Event returns TeammateIdle.
func (TeammateIdleInput) Event() Event { return TeammateIdle }

// Event returns TaskCreated.
func (TaskCreatedInput) Event() Event { return TaskCreated }

// Event returns TaskCompleted.
func (TaskCompletedInput) Event() Event { return TaskCompleted }

// Event returns Notification.
func (NotificationInput) Event() Event { return Notification }

// list is written as an empty one if it is nil, because hooks may rely on it.
type list[T any] []T

// MarshalJSON never writes null.
func (l list[T]) MarshalJSON() ([]byte, error) {
	return texts.Marshal(append([]T{}, l...))
}
