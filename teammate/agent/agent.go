package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/hooks/texts"
)

// Agent is the intelligence of a member.
//
// Run gives it a prompt and returns when the agent is done: it has made its last tool call
// and given its last answer. Text and calls go through h, which is valid until Run returns.
// The agent does not know the gates: a refused turn end is just another Run.
//
// Run is never called concurrently. When ctx ends it stops as soon as it can and returns
// ctx's error; before that it gives every tool call of its conversation exactly one result.
// It returns an *APIError when the model failed, a *LimitError or a *LoginError when it
// cannot continue for now, Pass's error when h refused another pass, and any other error
// when the agent itself is broken, which ends the member.
//
// The host records what the agent has not recorded when Run returns: the prompt, and the
// text of the reply. An agent whose turns should survive a crash records each message itself
// as it arrives.
type Agent interface {
	Run(ctx context.Context, prompt []Input, h Host) (Reply, error)
}

// Resumer is an Agent that can continue a turn that a crash interrupted. Resume completes the
// conversation, so that every tool call has one result, and continues as Run does.
type Resumer interface {
	Resume(ctx context.Context, h Host) (Reply, error)
}

// Retainer is an Agent that still has the prompt of a failed Run, so that the next turn does
// not repeat it. For other agents it is repeated, because it is unknown how much of it an
// agent program has processed.
type Retainer interface {
	Retains()
}

// Reply is the result of one Run of an agent.
type Reply struct {
	Text      string // text of the last assistant message, blocks joined by "\n", trimmed
	ToolCalls int    // tool calls made in this Run; a call resets the count of refusals
	Usage     Usage
	// Halted is the reason for which a tool hook stopped the turn (continue:false), or "".
	// The gates do not run then.
	Halted string
}

// Host is the interface that a member gives its agent during one Run.
type Host interface {
	// Pass is called before each model request. It counts the request against
	// limits.max_turns and returns mail that has arrived, which must be shown with the
	// request. It fails with ErrMaxTurns or ErrMaxTokens when a limit is reached, and with
	// ctx's error when the turn is interrupted.
	Pass(ctx context.Context) ([]Input, error)
	// Call runs one tool call: hooks, permissions, the tool. It always returns a result.
	// Calls must not overlap; see Starter. A call that is in no recorded message is recorded with its
	// result.
	Call(ctx context.Context, call ToolCall) ToolResult
	// Record appends a message to the member's transcript, where hooks can read it when
	// Record returns, and reports its text and tool blocks to the journal. Mail among its
	// Inputs is confirmed as delivered. It fails when the transcript cannot be written, and
	// when the message would leave a tool call without its one result.
	Record(m Record) error
}

// Starter is a Host that can run several read-only tools at the same time. The Host of a
// Teammate implements it.
type Starter interface {
	// Start is Call for a call in a recorded message, but it returns when the tool has begun.
	// The function that it returns waits for the result. It must be called once for each call,
	// in the order of the calls, even when ctx has ended. Until then no other call may be
	// started unless both tools are ReadOnly.
	Start(ctx context.Context, call ToolCall) (result func() ToolResult)
}

// Toolbox is a Host whose member has tools that come and go, in addition to those that its agent was
// made with. The Host of a Teammate implements it.
type Toolbox interface {
	// Tools returns these tools as they are now. They are the member's until the next call of Tools.
	Tools(ctx context.Context) []Spec
}

// Record is one message to be written to the transcript.
type Record struct {
	Message Message
	Inputs  []Input    // the sources of the message's text blocks; user messages only
	Step    *int       // which script step served this message; nil without a script
	Usage   Usage      // of the model request that returned the message; assistant messages only
	Model   string     // which model answered, if not the agent's own
	Context ContextUse // of the conversation with the message; assistant messages only
}

// ToolCall is a tool call of an agent.
type ToolCall struct {
	ID    string // unique in the member's conversation
	Name  string
	Input json.RawMessage // a JSON object
	// Shell lists the command lines one of which an agent program has run for the call, if
	// it reports only a file: rules for Bash apply to such a call as well. nil: it has run
	// none.
	Shell []string
}

// ToolResult is the result of an agent's tool call.
type ToolResult struct {
	Content string  // what the model sees
	Images  []Image // likewise; Content describes them for people
	IsError bool
	// Response is the tool's structured output, which PostToolUse hooks get as
	// tool_response; nil when the tool failed.
	Response json.RawMessage
	// Extra is text that hooks add to the result (PreToolUse contexts).
	Extra []string
	// Halted is set when a hook stopped the turn; the agent finishes its batch of calls and
	// returns.
	Halted string
	// Rejected means that an agent program itself refused to make the call: nothing was run.
	Rejected bool
}

// Output returns the structured output of a tool, or its text if it has none.
func (r ToolResult) Output() json.RawMessage {
	if len(r.Response) > 0 {
		return r.Response
	}
	text, err := texts.Marshal(r.Content)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return text
}

// Failed returns the result of a failed call.
func Failed(format string, args ...any) ToolResult {
	return ToolResult{Content: fmt.Sprintf(format, args...), IsError: true}
}

// Spec describes a tool to a model.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of its input, an object
	// ReadOnly means that the tool changes nothing outside the conversation and
	// can be run again after a crash. Plan mode allows only such tools. Calls of such
	// tools may run at the same time.
	ReadOnly bool
	// Web means that the tool reaches beyond the workspace and the team. The mode does not
	// allow it for being ReadOnly.
	Web bool
	// Server is the MCP server that the tool belongs to; empty: none.
	Server string
	// Hinted means that a foreign server claims that the tool is ReadOnly. Nothing relies on it but
	// plan mode, which does not refuse such a tool by itself: a rule, a hook or a person decides.
	Hinted bool
	// Edits means that the tool writes the file named by its file_path input; permission
	// mode acceptEdits allows it inside the workspace.
	Edits bool
	// Team means that the tool acts on the team (tasks, messages). Such tools never ask for
	// permission. Their effects are stored under the call's id, so that repeating a call
	// after a crash has no further effect.
	Team bool
	// Delegates means that the tool only runs a helper, each of whose calls needs its own
	// permission. So such a tool needs none. It is not ReadOnly, because what its helper
	// did must not be repeated.
	Delegates bool
}

// Tool is a function that an agent can call. Implementations must be safe for one call at a
// time per member; those that are ReadOnly must also be safe while they and other ReadOnly tools
// of the member run.
type Tool interface {
	Spec() Spec
	// Run runs the call, which has passed hooks and permissions. A failure is a result with
	// IsError set, never a panic.
	Run(ctx context.Context, call ToolCall) ToolResult
}

// Contained runs a tool and turns a panic into a result.
func Contained(ctx context.Context, run func(context.Context) ToolResult) (r ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			r = ToolResult{Content: fmt.Sprintf("internal error in the tool: %v", p), IsError: true}
		}
	}()
	return run(ctx)
}

// Repairer is a Tool that corrects common mistakes in its input, such as an older field's
// name. Repair is called before the input is checked against the schema.
type Repairer interface {
	Repair(input json.RawMessage) json.RawMessage
}

// Normalizer is a Tool whose input can name the same thing in several ways, such as a path
// through a symbolic link. Normalize returns the canonical form that permission rules, hooks
// and the tool get; it returns input that the tool would refuse unchanged. It is called
// before PreToolUse hooks run, and again for an input that a hook has replaced.
type Normalizer interface {
	Normalize(input json.RawMessage) json.RawMessage
}

// Locator is a Tool that knows which paths a call reaches, as written in its input;
// permissions check whether they are in the workspace. Without it the fields file_path and
// path count.
type Locator interface {
	Locations(input json.RawMessage) []string
}

// Renderer is a Tool that can make what a model sees of a result, Content and Images, from a
// response that a PostToolUse hook has replaced (updatedToolOutput). It fails if the response does
// not have the form of the tool's own; the result then stays unchanged.
type Renderer interface {
	Render(response json.RawMessage) (ToolResult, error)
}
