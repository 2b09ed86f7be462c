package hooks

import (
	"strings"
)

// SubagentStartInput is the payload of SubagentStart. The helper is in the common fields
// agent_id and agent_type.
type SubagentStartInput struct{}

// SubagentStopInput is the payload of SubagentStop. The helper is in the common fields.
type SubagentStopInput struct {
	StopHookActive       bool                 `json:"stop_hook_active"`
	AgentTranscriptPath  string               `json:"agent_transcript_path"` // the helper's own; complete up to this event
	LastAssistantMessage string               `json:"last_assistant_message,omitempty"`
	BackgroundTasks      list[BackgroundTask] `json:"background_tasks"`
	SessionCrons         list[SessionCron]    `json:"session_crons"`
}

// Event returns SubagentStart.
func (SubagentStartInput) Event() Event { return SubagentStart }

// Event returns SubagentStop.
func (SubagentStopInput) Event() Event { return SubagentStop }

// ForHelper reports whether hooks for one kind of helper apply to this event. The agent_id
// of a member contains an @, between its name and its team's, and that of a helper does
// not, so a member named like the kind does not match.
func (in Input) ForHelper(kind string) bool {
	return kind == "" || kind == in.AgentType && in.AgentID != "" && !strings.Contains(in.AgentID, "@")
}
