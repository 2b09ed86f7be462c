package hooks

import (
	"context"
	"encoding/json"
	"time"
)

// Status says how one hook ended (HOOKS.md section 5).
type Status string

// What became of one hook.
const (
	Success          Status = "success"
	Blocking         Status = "blocking"
	NonBlockingError Status = "non_blocking_error"
	Cancelled        Status = "cancelled" // timed out or aborted; it has no say
	// Awaiting is neither success nor refusal: a gate waits for somebody's answer
	// (Result.Wait). Only a Policy can say so.
	Awaiting Status = "await"
)

// Decision is what an event's hooks decided together.
type Decision string

// The decisions; each outweighs those above it.
const (
	Pass  Decision = "pass"
	Await Decision = "await" // some gate waits for an answer, and no hook refuses
	Block Decision = "block"
	Halt  Decision = "stop" // continue:false
)

// Result is what one hook did.
type Result struct {
	Type     string        // handler type: command, http, …
	Command  string        // what the user configured: the command line, URL or prompt
	Outcome  Status        //
	ExitCode int           // -1 if it did not exit by itself; of an http hook the status of the response
	Duration time.Duration //
	Stdout   string        // capped; see Options.OutputCap; of an http hook the body of the response
	Stderr   string        // capped
	Feedback string        // what a hook that blocks or waits says to the model, without the event's heading
	Wait     *Wait         // what a hook with outcome Awaiting waits for; nil: it does not wait
	// FailedOpen says that the hook gave no verdict (it could not run, timed out,
	// or answered nothing usable), so that the action went on unchecked.
	FailedOpen bool
	// Observed is what a hook that only observes (Handler.Mode) would have decided:
	// block, stop, deny, ask, allow, defer or pass. Nothing of it was acted on. Empty:
	// the hook's word counted.
	Observed string
	Warning  string // what a person should know: a fail-open, a broken JSON, a child left behind
}

// Wait is the answer that a gate waits for.
type Wait struct {
	For string // whose answer it is, for people: "the approval of rev"
	// Ask puts the question and returns what the gate says from then on. It is called
	// once all hooks of the event have ended and none of them refuses: nobody is asked
	// to look at work that is going to change. nil: the question has been put already.
	Ask func(context.Context) Result
}

// Permission is what hooks decided about a tool call.
type Permission struct {
	Decision string `json:"decision"` // allow, deny, ask or defer; empty: no say
	Reason   string `json:"reason"`
}

// Outcome is what all hooks of one event run did and decided together. It is
// a value: nothing in it changes after Run has returned it.
type Outcome struct {
	Event     Event
	ToolUseID string // made by the Runner for this run alone; a tool event carries its call's id
	Matched   int    // hooks that matched, after dedupe
	// Background is how many of them went on in the background; Results are of the
	// others.
	Background int
	Results    []Result // in the order in which the hooks finished
	Decision   Decision

	// Awaits is whose answer a Decision Await waits for, for people.
	Awaits string
	// Feedback is what the model is to see, one text per blocking hook, each
	// complete with its heading ("Stop hook feedback:\n…"); of a tool call that is
	// denied, the text of the hook that finished last alone. With a Decision Await
	// it says what is waited for.
	Feedback []string
	// Messages is everything that the model is to see of this event, in the order
	// in which the hooks finished: Feedback and AdditionalContext, and the
	// reminders that recorded hosts add at a turn end. A turn end shows these,
	// each as a message of its own; a tool call shows Feedback as its error
	// (PreToolUse) or both below its result.
	Messages []string
	// StopReason is why a hook halted, for people; the model does not see it.
	StopReason string
	// AdditionalContext holds the contexts that hooks gave, each as the model
	// is to see it: a system reminder that names the hook.
	AdditionalContext []string
	// SystemMessages are for people, not for the model.
	SystemMessages []string
	// Warnings are for people too: what is wrong with the configuration of this
	// event. What went wrong in one hook stands in its Result.
	Warnings []string

	Permission   Permission
	UpdatedInput json.RawMessage // replaces the tool's input whole; nil: unchanged
	// Output holds the event-specific output fields that have no field above.
	Output map[string]json.RawMessage
}

// Progress tells an observer of Run that a hook started (Result nil) or
// finished. Calls come one at a time, in the order in which things happened. A
// hook that goes on in the background is told of once more when it does so, and
// its end as late as after Run has returned.
type Progress struct {
	Event     Event
	ToolUseID string
	Command   string
	Status    string // what people are to read while the hook runs (Handler.StatusMessage); may be empty
	Result    *Result
	// Background is set once nobody waits for the hook any more; nil: somebody does.
	Background *Background
}

// Continues reports whether a turn end with this outcome sends the agent back
// to work: a hook refused, or a Stop hook gave context to act on. A halt or a wait
// ends the turn whatever the hooks have to say besides.
func (o Outcome) Continues() bool {
	switch o.Decision {
	case Halt, Await:
		return false
	case Block:
		return true
	}
	return (o.Event == Stop || o.Event == SubagentStop) && len(o.AdditionalContext) > 0
}

// FailedOpen counts the hooks that gave no verdict, so that the action went on
// unchecked. A policy that fails in silence is worse than none.
func (o Outcome) FailedOpen() int {
	open := 0
	for _, r := range o.Results {
		if r.FailedOpen {
			open++
		}
	}
	return open
}

// Waits reports whether the hook waits for somebody's answer.
func (r Result) Waits() bool { return r.Outcome == Awaiting && r.Wait != nil }

// Background tells of a hook that goes on while nobody waits for it: one with
// async or asyncRewake, or one that has asked for it on its first line. Such a
// hook decides nothing.
type Background struct {
	ID string // of this run of the hook; no other has it
	// Rewake says that the hook may wake the agent yet (asyncRewake): what it was
	// fired for is not settled before it has ended.
	Rewake bool

	// What follows is known once it has ended.

	// Wakes says that the agent is to be woken with Messages. Otherwise they are
	// for whenever it has its next turn or pass.
	Wakes bool
	// Feedback says that Messages are what a turn end's hook has against the end:
	// the turn that they cause goes on from it (stop_hook_active).
	Feedback       bool
	Messages       []string // what the model is to see, each complete
	SystemMessages []string // for people
	Summary        string   // of a wake: one line for people
}
