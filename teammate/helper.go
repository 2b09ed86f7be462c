package teammate

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Delegator is a Tool whose calls are carried out by a helper: an agent inside the
// member with its own conversation and tools. The member calls Delegate instead of
// Run.
type Delegator interface {
	agent.Tool
	Delegate(ctx context.Context, call agent.ToolCall, e Employer) agent.ToolResult
}

// Employer is the member that calls a Delegator. It is valid until Delegate returns.
type Employer interface {
	// Help runs a helper and returns when it is done, or at once if h.Done is set.
	// The member's hooks and permissions apply to the helper's tool calls;
	// SubagentStart and SubagentStop hooks run around it. Its usage counts for the
	// member. A helper cannot call helpers.
	Help(ctx context.Context, h Helper) Help
}

// Helper describes a helper and its work. Call, Equip, and either Type or Continue
// are required.
type Helper struct {
	Call        string // id of the tool call
	Type        string // its agent_type, which matchers of SubagentStart and SubagentStop see
	Continue    string // id of an ended helper to continue, which keeps its type
	Description string // what it does, in a few words, for people
	Prompt      string
	Equip       func(HelperSetting) (HelperGear, error) // makes its agent and tools
	// Done, if set, runs the helper in the background: the member's call returns at
	// once. Done is called with the result, from a goroutine of the member, and returns
	// the notice that the member gets as its next prompt. It needs Options.PostNotice.
	Done func(Help) string
}

// HelperSetting is where a helper starts.
type HelperSetting struct {
	ID   string             // its agent_id
	Type string             // its agent_type
	Dir  *workspace.Workdir // starts at the member's directory and moves independently
	Past transcript.History // the conversation so far of a continued helper
}

// HelperGear is what a helper works with.
type HelperGear struct {
	Agent agent.Agent
	Tools []agent.Tool
	May   func(tool string) bool // which of the member's Options.Others it has; nil: all
	// MaxPasses limits its model requests; 0 means no limit except the member's budget.
	MaxPasses int
	Close     func() error // called when the helper has ended; may be nil
}

// Help is the result of a helper.
type Help struct {
	ID     string      // its agent_id
	Text   string      // its last text, trimmed
	Tools  []string    // the tools that it called, in order, one entry per call
	Passes int         // model requests
	Usage  agent.Usage // of all its model requests
	Last   agent.Usage // of the last request, which shows the size of its conversation
	Took   time.Duration
	// Problem is why the helper did not finish. It is empty if it finished or a hook
	// ended it.
	Problem string
	// Background means that the helper runs in the background; there is no result yet.
	Background bool
	// Transcript is the path of its conversation.
	Transcript string
}

// helperRole makes a Teammate a helper.
type helperRole struct {
	Helper
	id     string
	caller *turn // the turn that called it; a background helper outlives it
}

// helperID returns the id of a tool call's helper, in the form of recorded hosts. It is
// derived from the call, so it is unique within a session.
func helperID(session, call string) string {
	return "a" + texts.Digest(session + "\x00" + call)[:16]
}

// IsHelperID reports whether id has the form of a helper's.
func IsHelperID(id string) bool {
	digits, ok := strings.CutPrefix(id, "a")
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == 8
}

// root returns the member itself, or the member of a helper.
func (t *Teammate) root() *Teammate {
	if t.helper != nil {
		return t.helper.caller.t
	}
	return t
}

// noMail is the Inbox of helpers, which get no mail.
type noMail struct{}

// Next implements Inbox.
func (noMail) Next(ctx context.Context) (Work, error) {
	<-ctx.Done()
	return Work{}, context.Cause(ctx)
}

// Waiting implements Inbox.
func (noMail) Waiting(context.Context) ([]agent.Input, error) { return nil, nil }

// Taken implements Inbox.
func (noMail) Taken(context.Context, []string) error { return nil }

// delegate runs a call, by a helper if the tool is a Delegator.
func (run *agentRun) delegate(ctx context.Context, tl *permission.Tool, call agent.ToolCall) agent.ToolResult {
	if d, ok := tl.Runner.(Delegator); ok {
		return d.Delegate(ctx, call, run.u)
	}
	return tl.Runner.Run(ctx, call)
}
