package agent

import "context"

// Supervisor is a Host that supervises tool calls that it does not run, because an agent program
// makes them itself. The Host of a Teammate implements it. As with Host.Call, calls must not
// overlap.
type Supervisor interface {
	// Permit decides whether the program may make call, which it has asked for: PreToolUse
	// hooks, rules and permission mode, as for Call. If a hook changes the input, the call
	// is denied, because the program would run its own copy.
	Permit(ctx context.Context, call ToolCall) Permission
	// Report runs the hooks for a call that is done. If the program never asked about it,
	// the journal records that, and which rule it has violated.
	Report(ctx context.Context, call ToolCall, r ToolResult) Remarks
}

// Correspondent is a Host that delivers mail in the middle of a turn without counting a pass, for
// agents that accept messages while they work. As with Pass, the agent must record the mail once
// it has it.
type Correspondent interface {
	Mail(ctx context.Context) []Input
}

// Permission is the answer to a program that asked for a tool call.
type Permission struct {
	Allow  bool
	Reason string // why not, for the model; empty if allowed
	Remarks
}

// Remarks are what hooks said in addition to a decision.
type Remarks struct {
	Feedback []Input // for the model, as soon as possible
	Halted   string  // continue:false: the agent stops and returns
}

// Reminder is an optional interface of an Asker, and of the Host of a Teammate that has one.
type Reminder interface {
	// Unbegun reports whether a call of an earlier run was interrupted while its question
	// waited for an answer, or before anyone acted on the answer. Then the call has had no
	// effect, and repeating it asks the same question. It is false for a call that may have
	// begun.
	Unbegun(ctx context.Context, callID string) bool
}
