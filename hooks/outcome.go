package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Status describes how one hook ended (HOOKS.md section 5).
type Status string

// The ways in which a hook ends.
const (
	Success          Status = "success"
	Blocking         Status = "blocking"
	NonBlockingError Status = "non_blocking_error"
	Cancelled        Status = "cancelled" // timed out or aborted; it decides nothing
	// Awaiting is neither success nor refusal: a gate waits for an answer (Result.Wait).
	// Only a Policy can return it.
	Awaiting Status = "await"
)

// Decision is the joint decision of an event's hooks.
type Decision string

// The decisions. Each takes precedence over those above it.
const (
	Pass  Decision = "pass"
	Await Decision = "await" // a gate waits for an answer, and no hook refuses
	Block Decision = "block"
	Halt  Decision = "stop" // continue:false
)

// Result is what one hook did.
type Result struct {
	Type     string // handler type: command, http, …
	Command  string // what the user configured: the command line, URL or prompt
	Outcome  Status
	ExitCode int // -1 if it did not exit by itself; for an http hook the status of the response
	Duration time.Duration
	Stdout   string // at most Options.OutputCap bytes; for an http hook the body of the response
	Stderr   string // at most Options.OutputCap bytes
	Feedback string // what a hook that blocks or waits says to the model, without the event's heading
	Wait     *Wait  // what a hook with outcome Awaiting waits for; else nil
	// FailedOpen means that the hook gave no verdict (it could not run, timed out,
	// or answered nothing usable), so that the action went on unchecked.
	FailedOpen bool
	// Observed is what a hook that only observes (Handler.Mode) would have decided: block,
	// stop, deny, ask, allow, defer or pass. It had no effect. Empty for other hooks.
	Observed string
	Warning  string // for people: a hook that failed open, invalid JSON, a child left behind
}

// Wait is the answer that a gate waits for.
type Wait struct {
	For string // for people, whose answer it is: "the approval of rev"
	// Ask asks the question and returns the result of the gate from then on. It is called
	// when all hooks of the event have ended and none of them refuses, because refused
	// work is going to change. nil means that the question has been asked already.
	Ask func(context.Context) Result `json:"-"`
}

// Permission is what hooks decided about a tool call.
type Permission struct {
	Decision string `json:"decision"` // allow, deny, ask or defer; empty if they decided nothing
	Reason   string `json:"reason"`
}

// Outcome is the joint result of all hooks of one event. It does not change after Run has
// returned it.
type Outcome struct {
	Event     Event
	ToolUseID string // of the event's tool call, or else made by the Runner for this run
	Matched   int    // hooks that matched, after deduplication
	// Background is how many of them continued in the background. They are not in Results.
	Background int
	Results    []Result // in the order in which the hooks finished
	Decision   Decision

	// Awaits describes for people whose answer a Decision Await waits for.
	Awaits string
	// Feedback is what the model is to see, one text per blocking hook, each with its
	// heading ("Stop hook feedback:\n…"). For a denied tool call it is only the text of the
	// hook that finished last. With a Decision Await it says what the gate waits for.
	Feedback []string
	// Messages is everything that the model is to see of this event: AdditionalContext, the
	// reminders that recorded hosts add at a turn end, and Feedback, each in the order in which
	// the hooks finished. A turn end shows each as a message, and Feedback last and framed; a
	// tool call shows Feedback as its error (PreToolUse) or both below its result.
	Messages []string
	// StopReason is why a hook halted, for people; the model does not see it. StoppedBy is the
	// command of that hook.
	StopReason string
	StoppedBy  string
	// AdditionalContext holds the contexts of hooks, each as the model is to see it: a
	// system reminder that names the hook.
	AdditionalContext []string
	// SystemMessages are for people, not for the model.
	SystemMessages []string
	// Warnings are for people too: mistakes in the configuration of this event's hooks.
	// Failures of one hook are in its Result.
	Warnings []string

	Permission   Permission
	UpdatedInput json.RawMessage // replaces the whole input of the tool; nil leaves it unchanged
	// Output holds the event-specific output fields that have no field above.
	Output map[string]json.RawMessage
}

// Progress tells an observer of Run that a hook has started (Result is nil) or finished.
// Calls come one at a time, in the order of events. A hook that continues in the background
// is reported once more when it does, and its end possibly after Run has returned.
type Progress struct {
	Event     Event
	ToolUseID string
	Command   string
	Status    string // shown to people while the hook runs (Handler.StatusMessage); may be empty
	Result    *Result
	// Background is set for a hook in the background, else nil.
	Background *Background
}

// Continues reports whether a turn end with this outcome sends the agent back to work: a
// hook refused, or a Stop hook gave context to act on. A halt or a wait always ends the
// turn.
func (o Outcome) Continues() bool {
	switch o.Decision {
	case Halt, Await:
		return false
	case Block:
		return true
	}
	return (o.Event == Stop || o.Event == SubagentStop) && len(o.AdditionalContext) > 0
}

// FailedOpen returns how many hooks gave no verdict, so that the action went ahead
// unchecked.
func (o Outcome) FailedOpen() int {
	open := 0
	for _, r := range o.Results {
		if r.FailedOpen {
			open++
		}
	}
	return open
}

// Waits reports whether the hook waits for an answer.
func (r Result) Waits() bool { return r.Outcome == Awaiting && r.Wait != nil }

// Background describes a hook that runs while nobody waits for it: one with async or
// asyncRewake, or one that asked for it on its first line of output. Such a hook decides
// nothing.
type Background struct {
	ID string // unique for this run of the hook
	// Rewake means that the hook may still wake the agent (asyncRewake), so the event is
	// only settled when it has ended.
	Rewake bool

	// The fields below are set when the hook has ended.

	// Wakes means that the agent is to be woken with Messages. Otherwise they are kept for
	// its next turn or pass.
	Wakes bool
	// Feedback means that Messages refuse a turn end: the turn that they start continues
	// that one (stop_hook_active).
	Feedback       bool
	Messages       []string // what the model is to see, each complete
	SystemMessages []string // for people
	Summary        string   // of a wake: one line for people
}

// Text returns a text field of the output; empty if it is missing or no text.
func (o Outcome) Text(field string) string {
	var text string
	if raw, ok := o.Output[field]; !ok || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// HaltReason returns why a hook halted, for people.
func (o Outcome) HaltReason() string {
	return cmp.Or(o.StopReason, string(o.Event)+" hook prevented continuation")
}

// Refusal returns what the first hook that refused said; empty if none did.
func (o Outcome) Refusal() string { return o.refused().Feedback }

// Refuser returns the command of the first hook that refused; empty if none did.
func (o Outcome) Refuser() string { return o.refused().Command }

// refused returns the result of the first hook that refused; the zero value if none did.
func (o Outcome) refused() Result {
	i := slices.IndexFunc(o.Results, func(r Result) bool { return r.Outcome == Blocking })
	if i < 0 {
		return Result{}
	}
	return o.Results[i]
}

// ModelDenial returns the reason of a denial by a model, that is by a prompt or agent hook.
func (o Outcome) ModelDenial() (reason string, yes bool) {
	for _, r := range o.Results {
		if r.Outcome == Blocking && (r.Type == "prompt" || r.Type == "agent") {
			return r.Feedback, true
		}
	}
	return "", false
}
