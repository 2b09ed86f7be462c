package hooks

import (
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// SubagentStartInput is the payload of SubagentStart. The helper is in the common fields
// agent_id and agent_type.
type SubagentStartInput struct{}

// SubagentStopInput is the payload of SubagentStop. The helper is in the common fields.
type SubagentStopInput struct {
	StopHookActive       bool             `json:"stop_hook_active"`
	AgentTranscriptPath  string           `json:"agent_transcript_path"` // the helper's own; complete up to this event
	LastAssistantMessage string           `json:"last_assistant_message,omitempty"`
	BackgroundTasks      []BackgroundTask `json:"background_tasks"`
	SessionCrons         []SessionCron    `json:"session_crons"`
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

// MarshalJSON writes nil lists as empty ones, because hooks may rely on both.
func (p SubagentStopInput) MarshalJSON() ([]byte, error) {
	type plain SubagentStopInput
	if p.BackgroundTasks == nil {
		p.BackgroundTasks = []BackgroundTask{}
	}
	if p.SessionCrons == nil {
		p.SessionCrons = []SessionCron{}
	}
	return texts.Marshal(plain(p))
}
