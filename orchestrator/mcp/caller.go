package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// Caller applies the rules and hooks of a member to the calls of its agent
// program, in one session of the member. All fields must be set. Its methods may
// be called from any goroutine.
type Caller struct {
	Member   *members.Member
	Life     *members.Life
	Teammate Teammate
	Rights   *permission.Rights               // the member's rules
	Asker    teammate.Asker                   // asks a person about calls
	Tools    func() ([]teamtools.Tool, error) // that the member has over MCP

	mu    sync.Mutex
	asked map[string]int // allowed calls that the program has not made yet, by tool
}

// Teammate is the member whose calls are guarded. A teammate.Teammate implements it.
type Teammate interface {
	// Fire runs the member's hooks for an event.
	Fire(context.Context, hooks.Payload) (hooks.Outcome, error)
	// Interrupt ends the member's turn.
	Interrupt(reason string)
}

// guard checks a call of a team tool by the member's rules and PreToolUse hooks,
// because many programs do not ask before they call a tool over MCP. It returns
// the input to run with, or the result to return instead.
func (c *Caller) guard(ctx context.Context, call api.TeamCall, id string) (json.RawMessage, *agent.ToolResult) {
	name := ToolName(call.Tool)
	may := c.Rights.Now()
	if rule, ok := catches(may.Deny, call.Tool, call.Input); ok {
		return nil, refused("Permission to use %s has been denied (rule %s).", name, rule)
	}
	if c.hadAsked(name) {
		return call.Input, nil
	}
	if rule, ok := catches(may.Ask, call.Tool, call.Input); ok {
		if no := c.askPeople(ctx, agent.ToolCall{ID: id, Name: name, Input: call.Input}, rule); no != nil {
			return nil, no
		}
	}
	return c.askHooks(ctx, name, call.Input, id)
}

// askHooks runs the member's PreToolUse hooks for a call of a team tool, by its
// name in hooks. It returns what guard returns.
func (c *Caller) askHooks(
	ctx context.Context, name string, input json.RawMessage, id string,
) (json.RawMessage, *agent.ToolResult) {
	out, err := c.Teammate.Fire(ctx, hooks.PreToolUseInput{ToolName: name, ToolInput: input, ToolUseID: id})
	switch {
	case err != nil:
		return nil, refused("The hooks that guard %s could not run, so it was not run: %v", name, err)
	case out.Decision == hooks.Halt:
		r := refused("A hook has stopped you: %s", out.StopReason)
		r.Halted = out.StopReason
		return nil, r
	case out.Decision == hooks.Block && len(out.Feedback) > 0:
		return nil, refused("%s", strings.Join(out.Feedback, "\n"))
	case out.Decision == hooks.Block, out.Permission.Decision == "deny", out.Permission.Decision == "ask":
		// A hook wants a person to decide, and nobody can be asked here.
		reason := cmp.Or(out.Permission.Reason, "Blocked by hook")
		return nil, refused("PreToolUse:%s hook error: %s", name, reason)
	case out.UpdatedInput != nil:
		return out.UpdatedInput, nil
	}
	return input, nil
}

// refused returns the result of a call that may not run.
func refused(format string, args ...any) *agent.ToolResult {
	return &agent.ToolResult{Content: fmt.Sprintf(format, args...), IsError: true}
}

// ToolName returns a team tool's name in rules and hooks of agent programs.
func ToolName(tool string) string { return "mcp__" + launch.MCPName + "__" + tool }

// forbids returns the deny or ask rule that matches a call of a team tool, for
// callers that cannot ask a person.
func (c *Caller) forbids(tool string, input json.RawMessage) (rule string, yes bool) {
	may := c.Rights.Now()
	return catches(slices.Concat(may.Deny, may.Ask), tool, input)
}

// catches returns the first rule of list that matches a call of a team tool. A
// rule may use the tool's name over MCP or the builtin agent's, so that one rule
// applies to all members.
func catches(list []rules.Rule, tool string, input json.RawMessage) (rule string, yes bool) {
	if len(list) == 0 {
		return "", false
	}
	for _, name := range []string{ToolName(tool), teamtools.Twins()[tool]} {
		for _, r := range list {
			if r.Forbids(rules.Call{Tool: name, Input: input}) {
				return r.String(), true
			}
		}
	}
	return "", false
}

// askPeople asks a person about a call of a team tool, if one is present. It
// returns nil if the call may run.
func (c *Caller) askPeople(ctx context.Context, call agent.ToolCall, rule string) *agent.ToolResult {
	if !c.Asker.Present() {
		return refused("Permission to use %s has been denied (rule %s).", call.Name, rule)
	}
	said := c.Asker.Ask(ctx, teammate.Question{Member: c.Member.Name, Call: call, Reason: "ask rule " + rule})
	switch {
	case said.Allow:
		return nil
	case said.By == teammate.ByTimeLimit, said.By == "":
		return refused("Permission to use %s was not given (rule %s), for nobody answered in time.", call.Name, rule)
	}
	return refused("Permission to use %s was not given by %s (rule %s). %s", call.Name, said.By, rule, said.Said)
}

// hadAsked reports whether the program has asked for this call and it was
// allowed, so that its hooks have run. Each permission is for one call.
func (c *Caller) hadAsked(tool string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked[tool] == 0 {
		return false
	}
	c.asked[tool]--
	return true
}

// see processes an event of the member. It records calls that the program was
// allowed to make, until the turn ends.
func (c *Caller) see(e events.Data) {
	switch data := e.(type) {
	case events.TurnStarted:
		c.mu.Lock()
		defer c.mu.Unlock()
		clear(c.asked)
	case events.PermissionDecided:
		if data.Decision != "allow" || !strings.HasPrefix(data.Tool, ToolName("")) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.asked == nil {
			c.asked = map[string]int{}
		}
		c.asked[data.Tool]++
	}
}
