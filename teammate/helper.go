package teammate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Delegator is a Tool whose calls are carried out by a helper: an agent inside
// the member, with a conversation and tools of its own. The member calls
// Delegate in place of Run.
type Delegator interface {
	agent.Tool
	Delegate(ctx context.Context, call agent.ToolCall, e Employer) agent.ToolResult
}

// Employer is the member for whose call a Delegator works. It is valid until
// Delegate returns.
type Employer interface {
	// Help lets a helper work and returns when it is done, or at once if h says
	// Background. The member's hooks and permissions hold for the helper's tool
	// calls as for its own; SubagentStart and SubagentStop hooks run around it.
	// What it uses counts for the member. A helper has no helpers.
	Help(ctx context.Context, h Helper) Help
}

// Helper says what a helper is and has to do. Call, Equip, and Type or Continue
// are required.
type Helper struct {
	Call        string // id of the tool call that wants it
	Type        string // its agent_type, which matchers of SubagentStart and SubagentStop see
	Continue    string // id of a helper that has ended and is to go on; its Type is its own
	Description string // what it does, in a few words, for people
	Prompt      string
	Equip       func(HelperSetting) (HelperGear, error) // makes its agent and tools
	// Done, if it is set, lets the helper work beside the member, whose call has
	// its result at once. Done is called with what came of it, from a goroutine of
	// the member, and gives the notice that the member gets as its next prompt.
	// It needs Options.Later.
	Done func(Help) string
}

// HelperSetting is where a helper begins.
type HelperSetting struct {
	ID   string             // its agent_id
	Type string             // its agent_type
	Dir  *workspace.Workdir // begins where the member is, and moves without it
	Past transcript.History // of a helper that goes on: its conversation so far
}

// HelperGear is what a helper works with.
type HelperGear struct {
	Agent agent.Agent
	Tools []agent.Tool
	// MaxPasses is how many model requests it may make; 0: no limit but the member's tokens.
	MaxPasses int
	Close     func() error // called when the helper has ended; may be nil
}

// Help is what came of a helper.
type Help struct {
	ID     string      // its agent_id
	Text   string      // its last words, trimmed
	Tools  []string    // the tools that it called, in order, one entry a call
	Passes int         // model requests
	Usage  agent.Usage // of all its model requests
	Last   agent.Usage // of the last one: how large its conversation has grown
	Took   time.Duration
	// Problem says why the helper did not come to its end; empty: it did, or a
	// hook ended it.
	Problem string
	// Beside says that the helper works on beside the member; nothing has come
	// of it yet.
	Beside bool
	// Transcript is the file that holds its conversation.
	Transcript string
}

// employment is what makes a Teammate a helper.
type employment struct {
	Helper
	id   string
	boss *turn // the turn that called it; a helper beside the member outlives it
}

// helperID names the helper of a tool call, in the form that recorded hosts use.
// It follows from the call, so that none comes twice in a member's life.
func helperID(session, call string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + call))
	return "a" + hex.EncodeToString(sum[:8])
}

// IsHelperID reports whether id has the form of a helper's.
func IsHelperID(id string) bool {
	digits, ok := strings.CutPrefix(id, "a")
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == 8
}

// helperTranscript is where a helper's conversation is kept: beside that of its
// member, as recorded hosts do.
func helperTranscript(member, id string) string {
	return filepath.Join(strings.TrimSuffix(member, ".jsonl"), "subagents", "agent-"+id+".jsonl")
}

// root is the member itself, also where t is one of its helpers.
func (t *Teammate) root() *Teammate {
	if t.helper != nil {
		return t.helper.boss.t
	}
	return t
}

// noMail is the Inbox of helpers: nobody writes to them.
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

// delegate carries out a call: by a helper, where the tool wants one.
func (run *agentRun) delegate(ctx context.Context, tl *permission.Tool, call agent.ToolCall) agent.ToolResult {
	if d, ok := tl.Runner.(Delegator); ok {
		return d.Delegate(ctx, call, run.u)
	}
	return tl.Runner.Run(ctx, call)
}
