package agent

import "time"

// Planned tells the journal what a foreign agent means to do.
type Planned struct {
	Entries []PlanEntry `json:"entries"`
}

// PlanEntry is one step of a plan, in the words of the agent program.
type PlanEntry struct {
	Text     string `json:"text"`
	Status   string `json:"status"` // pending, in_progress, completed
	Priority string `json:"priority,omitempty"`
}

// CallDetected tells the journal of a tool call that a program made without
// asking: it could only be looked at afterwards.
type CallDetected struct {
	ID    string `json:"id"`
	Tool  string `json:"tool"`
	Broke string `json:"broke,omitempty"` // the deny or ask rule that would have caught it
}

// ProgramRestarts tells the journal that an agent program has ended, or is of no use any
// more, and is about to be started again.
type ProgramRestarts struct {
	Reason string        `json:"reason"`            // how it ended, with its last words
	Rest   time.Duration `json:"rest_ns,omitempty"` // until it is started
	Left   int           `json:"left"`              // how often it may fail again before it is given up
}

// HeldUp tells people why nothing is heard of a turn that goes on.
type HeldUp struct {
	For string `json:"for"` // for people, behind "waits for "
}

// EventType is the journal's name for it.
func (HeldUp) EventType() string { return "held_up" }

// EventType is the journal's name for it.
func (ProgramRestarts) EventType() string { return "program_restarts" }

// EventType is the journal's name for it.
func (Planned) EventType() string { return "plan" }

// EventType is the journal's name for it.
func (CallDetected) EventType() string { return "call_detected" }

// HelperStarted is sent when a helper begins to work.
type HelperStarted struct {
	ID          string `json:"id"`
	AgentType   string `json:"agent_type"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	ToolUseID   string `json:"tool_use_id"` // the call that wants it
	Background  bool   `json:"background,omitempty"`
}

// HelperEnded is sent when a helper has ended, and one that worked beside the
// member is not counted by Helpers any more. Reason is one of the End
// constants, Problem for people.
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

// EventType is the journal's name for it.
func (HelperStarted) EventType() string { return "subagent_started" }

// EventType is the journal's name for it.
func (HelperEnded) EventType() string { return "subagent_ended" }
