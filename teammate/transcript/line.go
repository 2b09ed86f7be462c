package transcript

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Format is the version of the lines, and each line has it. New types and fields of lines
// appear under the same number.
const Format = 1

// Line is one line of a transcript. Hook scripts know the fields up to Cwd from other
// hosts; those after it are covey's.
type Line struct {
	Type       LineType       `json:"type"`
	Subtype    string         `json:"subtype,omitempty"` // of system lines
	Message    *agent.Message `json:"message,omitempty"` // of user and assistant lines
	UUID       string         `json:"uuid"`
	ParentUUID *string        `json:"parentUuid"` // of the line before; null in the first
	SessionID  string         `json:"sessionId"`
	Timestamp  string         `json:"timestamp"`
	Cwd        string         `json:"cwd"`
	Format     int            `json:"format,omitempty"` // of the covey that wrote the line

	Turn     int               `json:"turn,omitempty"`
	PromptID string            `json:"promptId,omitempty"` // turn_started
	Cause    events.Cause      `json:"cause,omitempty"`    // turn_started
	Reason   string            `json:"reason,omitempty"`   // turn_ended
	Inputs   []agent.Input     `json:"inputs,omitempty"`   // kept, session_*: whole inputs
	Kinds    []agent.InputKind `json:"kinds,omitempty"`    // user: what its text was made from
	Mail     []string          `json:"mail,omitempty"`     // user: ids that it shows
	Refusals int               `json:"refusals,omitempty"` // user: turn ends refused in a row so far
	Step     *int              `json:"step,omitempty"`     // assistant: script step that served it
	Voice    string            `json:"voice,omitempty"`    // assistant: the agent or model, where it is not the member's own
	Usage    *agent.Usage      `json:"usage,omitempty"`    // assistant, or a summary: tokens of its request
	CostUSD  float64           `json:"costUsd,omitempty"`  // what Usage cost, where a price was known

	Next   string                 `json:"nextSession,omitempty"` // session_rotated
	Served map[string]map[int]int `json:"served,omitempty"`      // session_begun: steps that served before, by Voice

	// A user line that takes the place of the conversation before it.
	IsSummary bool        `json:"isCompactSummary,omitempty"`
	Compacted *Compaction `json:"compactMetadata,omitempty"`

	AgentID   string `json:"agentId,omitempty"`     // in a helper's own transcript: whose it is
	Sidechain bool   `json:"isSidechain,omitempty"` // likewise
	Helper    string `json:"helper,omitempty"`      // helper_*: which one
	AgentType string `json:"agentType,omitempty"`   // turn_started of a helper: its kind
	Call      string `json:"toolUseId,omitempty"`   // turn_started of a helper: the call that wants it
}

// Compaction describes how a conversation was replaced by a summary.
type Compaction struct {
	Trigger string `json:"trigger"`   // manual or auto
	Before  int64  `json:"preTokens"` // estimated
	After   int64  `json:"postTokens"`
}

// SummaryOf returns the line of a compaction.
func SummaryOf(c agent.Compaction) Line {
	ln := LineOf(agent.Record{Message: c.Message, Inputs: c.Inputs})
	ln.IsSummary, ln.Compacted = true, &Compaction{Trigger: c.Trigger, Before: c.Before, After: c.After}
	ln.Step = c.Step
	if c.Usage != (agent.Usage{}) {
		ln.Usage = &c.Usage
	}
	return ln
}

// LineType is the type of a line.
type LineType string

const (
	UserLine      LineType = "user"
	AssistantLine LineType = "assistant"
	SystemLine    LineType = "system"
)

// The system lines. A turn with a turn_started and no turn_ended was interrupted.
const (
	TurnStarted   = "turn_started"
	TurnEnded     = "turn_ended"
	InputsKept    = "kept"
	TokensUsed    = "helper_used"     // a helper, or something else that has no message here, has spent tokens
	HelperStarted = "helper_started"  // a helper or a command in the background has started
	HelperEnded   = "helper_ended"    // it has ended, and the member's mailbox says so
	Rotated       = "session_rotated" // another session takes the place of this one
	Begun         = "session_begun"   // this session has taken the place of another
)

// LineOf returns the line of a recorded message.
func LineOf(m agent.Record) Line {
	ln := Line{Type: LineType(m.Message.Role), Message: &m.Message}
	if m.Message.Content == nil {
		ln.Message = &agent.Message{Role: m.Message.Role, Content: []agent.Block{}}
	}
	if m.Message.Role == agent.Assistant {
		ln.Step = m.Step
		if m.Usage != (agent.Usage{}) {
			ln.Usage = &m.Usage
		}
		return ln
	}
	for _, in := range m.Inputs {
		ln.Kinds = append(ln.Kinds, in.Kind)
		if in.MessageID != "" {
			ln.Mail = append(ln.Mail, in.MessageID)
		}
	}
	return ln
}
