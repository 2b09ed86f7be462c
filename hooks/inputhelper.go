package hooks

import (
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
)

// SubagentStartInput is the payload of SubagentStart. Who begins stands in the
// common fields: agent_id and agent_type.
type SubagentStartInput struct{}

// SubagentStopInput is the payload of SubagentStop. Whose stop it is stands in
// the common fields.
type SubagentStopInput struct {
	StopHookActive       bool             `json:"stop_hook_active"`
	AgentTranscriptPath  string           `json:"agent_transcript_path"` // the helper's own; complete up to this moment
	LastAssistantMessage string           `json:"last_assistant_message,omitempty"`
	BackgroundTasks      []BackgroundTask `json:"background_tasks"`
	SessionCrons         []SessionCron    `json:"session_crons"`
}

// Event names the moment.
func (SubagentStartInput) Event() Event { return SubagentStart }

// Event names the moment.
func (SubagentStopInput) Event() Event { return SubagentStop }

// ForHelper reports whether hooks for one kind of helper are for this event. A
// member's agent_id is its name and its team's, joined by an @, which no
// helper's has: a member of the same name is not meant.
func (in Input) ForHelper(kind string) bool {
	return kind == "" || kind == in.AgentType && in.AgentID != "" && !strings.Contains(in.AgentID, "@")
}

// MarshalJSON sends empty lists as such: hooks may rely on both being there.
func (p SubagentStopInput) MarshalJSON() ([]byte, error) {
	type plain SubagentStopInput
	if p.BackgroundTasks == nil {
		p.BackgroundTasks = []BackgroundTask{}
	}
	if p.SessionCrons == nil {
		p.SessionCrons = []SessionCron{}
	}
	return rawjson.Marshal(plain(p))
}
