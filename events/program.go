package events

import (
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

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

// Type implements Data.
func (ProgramStarts) Type() string { return "program_starts" }

// HeldUp tells people why a running turn shows no progress.
type HeldUp struct {
	For string `json:"for"` // for people, after "waits for "
}

// Type implements Data.
func (HeldUp) Type() string { return "held_up" }

// Type implements Data.
func (FreshSession) Type() string { return "fresh_session" }

// Type implements Data.
func (ProgramRestarts) Type() string { return "program_restarts" }

// Type implements Data.
func (Planned) Type() string { return "plan" }

// Type implements Data.
func (CallDetected) Type() string { return "call_detected" }

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
	ID         string      `json:"id"`
	AgentType  string      `json:"agent_type"`
	Reason     string      `json:"reason"`
	Problem    string      `json:"problem,omitempty"`
	Usage      agent.Usage `json:"usage"`
	Passes     int         `json:"passes"`
	ToolUses   int         `json:"tool_uses"`
	DurationMS int64       `json:"duration_ms"`
}

// Type implements Data.
func (HelperStarted) Type() string { return "subagent_started" }

// Type implements Data.
func (HelperEnded) Type() string { return "subagent_ended" }

// Observer is a Host that reports to the journal what no transcript holds, such as plans and
// warnings of an agent program.
type Observer interface {
	Observe(d Data)
}

// ObserverOf returns a host as an Observer, or one that drops everything if the host is none.
func ObserverOf(host any) Observer {
	if o, ok := host.(Observer); ok {
		return o
	}
	return unobserved{}
}

// unobserved is an Observer of which nobody hears.
type unobserved struct{}

// Observe implements Observer.
func (unobserved) Observe(Data) {}

// Compacted is sent when a member's conversation was made shorter.
type Compacted struct {
	// Layer is how: "results", old results of tools are no longer shown to the model, or
	// "summary", a summary took the conversation's place.
	Layer   string `json:"layer"`
	Trigger string `json:"trigger"`
	// Before and After are the size of what the model gets, in estimated tokens.
	Before  int64  `json:"before_tokens"`
	After   int64  `json:"after_tokens"`
	Summary string `json:"summary,omitempty"`
}

// Type implements Data.
func (Compacted) Type() string { return "compacted" }

// ModelSwitched is sent when another model answers the rest of a turn, or all further ones.
type ModelSwitched struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Why    string `json:"why"`            // what the model said
	Tokens int64  `json:"context_tokens"` // size of the conversation, estimated
	// BySpec means that the member has another model of its own, because the spec has changed.
	BySpec bool `json:"by_spec,omitempty"`
}

// Type implements Data.
func (ModelSwitched) Type() string { return "model_switched" }

// TokensUsed is sent for each model request of a member or its helpers, and for the requests of an
// agent program together, as the program reports them. The sum over a turn is in TurnEnded.
type TokensUsed struct {
	Model   string      `json:"model,omitempty"` // empty: the member's own
	Usage   agent.Usage `json:"usage"`
	CostUSD float64     `json:"cost_usd,omitempty"` // by covey's prices; 0: not known
	// Aside means that an agent program has made the request for itself, such as for a title, a suggestion or a
	// note in its memory: its model got no tools.
	Aside bool `json:"aside,omitempty"`
	// Context is how full the conversation of the member or helper is after the request.
	Context agent.ContextUse `json:"context,omitzero"`
}

// Type implements Data.
func (TokensUsed) Type() string { return "tokens_used" }

// ByRotation is the cause of a turn in which a member writes the brief for its next session. No
// gates follow it.
const ByRotation Cause = "rotate"

// Rotated is sent when another session takes the place of a member's session.
type Rotated struct {
	Before  string `json:"before"`  // the UUID of the old session
	Session string `json:"session"` // the UUID of the new one
	Brief   string `json:"brief"`   // the first input of the new session
}

// Type implements Data.
func (Rotated) Type() string { return "session_rotated" }
