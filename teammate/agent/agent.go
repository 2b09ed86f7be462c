package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// Agent does the thinking behind a member.
//
// Run hands it a prompt and returns once the agent has fallen silent: it has
// called its last tool and given its last answer. What it says and calls on
// the way goes through h, which is valid until Run returns. Gates are not its
// business: a refused turn end is simply the next Run.
//
// Run is never called twice at once. When ctx ends it stops as soon as it can
// and returns ctx's error; before that it gives every tool call of its
// conversation exactly one result. It returns an *APIError when the model
// failed, a *LimitError or a *LoginError when it may not go on for now, Pass's
// error when h refused another pass, and any other error when the agent itself
// is broken: the member ends then.
//
// What of the conversation the agent has not recorded when Run returns, the
// host records for it: the prompt, and the reply's text. An agent that wants
// its turns to survive a crash records each message itself, as it comes.
type Agent interface {
	Run(ctx context.Context, prompt []Input, h Host) (Reply, error)
}

// Resumer is an Agent that can go on with a turn that was cut off by a crash.
// Resume brings the conversation into order (every tool call has one result)
// and goes on as Run does.
type Resumer interface {
	Resume(ctx context.Context, h Host) (Reply, error)
}

// Retainer is an Agent that still has the prompt of a Run that failed. The next turn
// does not repeat it, as it does for an agent program, of which nobody knows how much
// of its prompt it took in.
type Retainer interface {
	Retains()
}

// Reply is what one Run of an agent came to.
type Reply struct {
	Text      string // text of the last assistant message, blocks joined by "\n", trimmed
	ToolCalls int    // tool calls made in this Run; a call starts the count of refusals again
	Usage     Usage
	// Halted is set when a tool hook stopped the turn (continue:false): the
	// reason to show. Gates do not run then.
	Halted string
}

// Host is what a member offers its agent for the length of one Run.
type Host interface {
	// Pass is called before each model request. It counts the request against
	// limits.max_turns and returns mail that came in meanwhile, to be shown
	// with the request. It fails with ErrMaxTurns or ErrMaxTokens when a limit
	// is reached and with ctx's error when the turn is interrupted.
	Pass(ctx context.Context) ([]Input, error)
	// Call runs one tool call: hooks, permissions, the tool. It always gives a
	// result, whatever went wrong. Calls may be made one after another only.
	// A call that no recorded message holds is recorded here with its result.
	Call(ctx context.Context, call ToolCall) ToolResult
	// Record appends a message to the member's transcript, where hooks can
	// read it when Record returns, and tells the journal of its text and tool
	// blocks. Mail among its Inputs is confirmed as delivered. It fails when
	// the transcript cannot be written, and when the message would leave a
	// tool call without its one result.
	Record(m Record) error
}

// Record is one message on its way into the transcript.
type Record struct {
	Message Message
	Inputs  []Input // what the message's text blocks were made from; user messages only
	Step    *int    // which script step served this message; nil without a script
	Usage   Usage   // of the model request that gave the message; assistant messages only
}

// ToolCall is a tool call of an agent.
type ToolCall struct {
	ID    string // unique in the member's conversation
	Name  string
	Input json.RawMessage // a JSON object
	// Shell are the command lines one of which an agent program has run for the call, where
	// it tells of the file alone: rules for Bash hold for such a call as well. nil: it has
	// run none.
	Shell []string
}

// ToolResult is what an agent's tool call came to.
type ToolResult struct {
	Content string // what the model sees
	IsError bool
	// Response is the tool's structured output, which PostToolUse hooks get as
	// tool_response; nil when the tool failed.
	Response json.RawMessage
	// Extra is text that hooks add beside the result (PreToolUse contexts).
	Extra []string
	// Halted is set when a hook stopped the turn; the agent finishes the batch
	// of calls it is in and returns.
	Halted string
	// Rejected says that an agent program has refused to make the call by itself: nothing
	// was run.
	Rejected bool
}

// Failed returns the result of a call that did not do what it was to do.
func Failed(text string) ToolResult { return ToolResult{Content: text, IsError: true} }

// Spec describes a tool to a model.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of its input, an object
	// ReadOnly says that the tool changes nothing outside the conversation and
	// can be run again after a crash. Plan mode allows only such tools.
	ReadOnly bool
	// Edits says that the tool writes the file named by its file_path input;
	// permission mode acceptEdits lets it pass inside the workspace.
	Edits bool
	// Team says that the tool acts on the team (tasks, messages). Such tools
	// never ask for permission, and their effects are stored under the call's
	// id, so that repeating a call after a crash repeats nothing.
	Team bool
	// Delegates says that the tool itself does nothing but let a helper work, each
	// of whose calls asks for permission by itself. So such a tool needs none; it
	// is not ReadOnly, for what its helper did may not be done twice.
	Delegates bool
}

// Tool is something an agent can call. Implementations must be safe for one
// call at a time per member.
type Tool interface {
	Spec() Spec
	// Run does the work. in has passed hooks and permissions. A failure is a
	// result with IsError set, never a panic.
	Run(ctx context.Context, call ToolCall) ToolResult
}

// Contained runs a tool; if it panics, that is its result.
func Contained(ctx context.Context, run func(context.Context) ToolResult) (r ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			r = ToolResult{Content: fmt.Sprintf("internal error in the tool: %v", p), IsError: true}
		}
	}()
	return run(ctx)
}
