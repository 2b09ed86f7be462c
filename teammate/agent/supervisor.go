package agent

import "context"

// Supervisor is a Host that looks after tool calls which it does not run: those
// that a foreign agent program makes by itself. The Host of a Teammate is one.
// As with Host.Call, calls come one after another only.
type Supervisor interface {
	// Permit decides whether the program may make call, which it has asked for
	// and waits with: PreToolUse hooks, rules, permission mode, as for Call.
	// A hook that wants the call changed is a no: the program has its own copy.
	Permit(ctx context.Context, call ToolCall) Permission
	// Report runs the hooks that look at a call which is done. A call that the
	// program never asked about was detected afterwards: the journal says so,
	// and which rule it would have broken.
	Report(ctx context.Context, call ToolCall, r ToolResult) Remarks
}

// Correspondent is a Host that hands out mail in the middle of a turn without
// counting a pass, for agents that can be spoken to while they work. As with
// Pass, what it returns has to be recorded once the agent has it.
type Correspondent interface {
	Mail(ctx context.Context) []Input
}

// Observer is a Host that tells the journal of what no transcript holds: plans
// and warnings of a foreign agent program.
type Observer interface {
	Observe(d EventData)
}

// Permission answers a program that asked for a tool call.
type Permission struct {
	Allow  bool
	Reason string // why not, as the model should hear it; empty if allowed
	Remarks
}

// Remarks are what hooks said beside a decision.
type Remarks struct {
	Feedback []Input // for the model, as soon as it can be told
	Halted   string  // continue:false: the agent stops and returns
}

// Reminder is what an Asker, and the Host of a Teammate that has one, may know besides.
type Reminder interface {
	// Unbegun reports whether a call of an earlier life was cut off while its question
	// waited for an answer, or before anybody acted on that. Then it has done nothing,
	// and making it again asks the same question. It never says so of one that may have
	// begun.
	Unbegun(ctx context.Context, callID string) bool
}
