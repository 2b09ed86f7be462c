package agent

import "time"

// Planned reports the plan of an agent program to the journal.
type Planned struct {
	Entries []PlanEntry `json:"entries"`
}

// PlanEntry is one step of a plan, in the words of the agent program.
type PlanEntry struct {
	Text     string `json:"text"`
	Status   string `json:"status"` // pending, in_progress, completed
	Priority string `json:"priority,omitempty"`
}

// CallDetected reports to the journal a tool call that a program made without asking, which was
// seen only afterwards.
type CallDetected struct {
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Violated string `json:"broke,omitempty"` // the deny or ask rule that the call violated
}

// ProgramRestarts reports to the journal that an agent program has ended, or is unusable, and is
// about to be restarted.
type ProgramRestarts struct {
	Reason string        `json:"reason"`            // how it ended, with its last output
	Rest   time.Duration `json:"rest_ns,omitempty"` // time until the restart
	Left   int           `json:"left"`              // how often it may fail again before it is given up
}

// FreshSession reports to the journal that an agent program works in a new session, because its
// member's conversation could not be continued. The model has only a summary of it.
type FreshSession struct {
	Reason string `json:"reason"` // why the old one is not continued
}

// ProgramStarts reports that an agent program is started within a turn, and then that it is ready
// for the prompt. In between no model thinks.
type ProgramStarts struct {
	Program string `json:"program"` // its file name
	Ready   bool   `json:"ready,omitempty"`
}

// EventType implements EventData.
func (ProgramStarts) EventType() string { return "program_starts" }

// HeldUp tells people why a running turn shows no progress.
type HeldUp struct {
	For string `json:"for"` // for people, after "waits for "
}

// EventType implements EventData.
func (HeldUp) EventType() string { return "held_up" }

// EventType implements EventData.
func (FreshSession) EventType() string { return "fresh_session" }

// EventType implements EventData.
func (ProgramRestarts) EventType() string { return "program_restarts" }

// EventType implements EventData.
func (Planned) EventType() string { return "plan" }

// EventType implements EventData.
func (CallDetected) EventType() string { return "call_detected" }

// HelperStarted is sent when a helper starts.
type HelperStarted struct {
	ID          string `json:"id"`
	AgentType   string `json:"agent_type"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	ToolUseID   string `json:"tool_use_id"` // the call that started it
	Background  bool   `json:"background,omitempty"`
}

// HelperEnded is sent when a helper has ended; Helpers then no longer counts it. Reason is one of
// the End constants, and Problem is for people.
type HelperEnded struct {
	ID         string `json:"id"`
	AgentType  string `json:"agent_type"`
	Reason     string `json:"reason"`
	Problem    string `json:"problem,omitempty"`
	Usage      Usage  `json:"usage"`
	Passes     int    `json:"passes"`
	ToolUses   int    `json:"tool_uses"`
	DurationMS int64  `json:"duration_ms"`
}

// EventType implements EventData.
func (HelperStarted) EventType() string { return "subagent_started" }

// EventType implements EventData.
func (HelperEnded) EventType() string { return "subagent_ended" }
