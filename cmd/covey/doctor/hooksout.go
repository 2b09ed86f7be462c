package doctor

import (
	"encoding/json"

	"github.com/coveyteam/covey/hooks"
)

// firedEvent is the output of `covey hooks run`. Programs
// read it, so it always has the same shape: lists are never null, and no field is
// omitted.
type firedEvent struct {
	Event             hooks.Event                `json:"event"`
	ToolUseID         string                     `json:"tool_use_id"`
	Matched           int                        `json:"matched"`
	Results           []firedHook                `json:"results"`
	Decision          hooks.Decision             `json:"decision"`
	Feedback          []string                   `json:"feedback"`
	StopReason        string                     `json:"stop_reason"`
	AdditionalContext []string                   `json:"additional_context"`
	SystemMessages    []string                   `json:"system_messages"`
	Permission        hooks.Permission           `json:"permission"`
	UpdatedInput      json.RawMessage            `json:"updated_input"` // null: unchanged
	Output            map[string]json.RawMessage `json:"output"`
}

// firedHook is the result of one hook of a firedEvent. Results are in the order in
// which the hooks ended.
type firedHook struct {
	Type       string       `json:"type"`
	Command    string       `json:"command"`
	Outcome    hooks.Status `json:"outcome"`
	ExitCode   int          `json:"exit_code"`
	DurationMS int64        `json:"duration_ms"`
	Stdout     string       `json:"stdout"`
	Stderr     string       `json:"stderr"`
}

// shown returns the feedback exactly as the model sees it. A turn end frames it, after everything else.
func shown(o hooks.Outcome) []string {
	if !hooks.InfoOf(o.Event).EndsTurn() {
		return o.Feedback
	}
	return o.Messages[len(o.Messages)-len(o.Feedback):]
}

// fired converts an outcome for printing.
func fired(o hooks.Outcome) firedEvent {
	f := firedEvent{
		Event: o.Event, ToolUseID: o.ToolUseID, Matched: o.Matched, Decision: o.Decision,
		Results:    make([]firedHook, 0, len(o.Results)),
		Feedback:   append([]string{}, shown(o)...),
		StopReason: o.StopReason, AdditionalContext: append([]string{}, o.AdditionalContext...),
		SystemMessages: append([]string{}, o.SystemMessages...), Permission: o.Permission,
		UpdatedInput: o.UpdatedInput, Output: o.Output,
	}
	for _, r := range o.Results {
		f.Results = append(f.Results, firedHook{
			Type: r.Type, Command: r.Command, Outcome: r.Outcome, ExitCode: r.ExitCode,
			DurationMS: r.Duration.Milliseconds(), Stdout: r.Stdout, Stderr: r.Stderr,
		})
	}
	if f.Decision == "" {
		f.Decision = hooks.Pass
	}
	if f.Output == nil {
		f.Output = map[string]json.RawMessage{}
	}
	return f
}
