package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// guard is what stands between an agent program's call of a team tool and the
// tool: the member's rules and its PreToolUse hooks, as before any tool. Many
// programs ask nobody before they call a tool over MCP, but all calls come in
// here. It returns the input to run with, or the answer to give instead.
func (s *seat) guard(ctx context.Context, c api.TeamCall, id string) (json.RawMessage, *agent.ToolResult) {
	name := mcpTool(c.Tool)
	may := s.rulesNow()
	if rule, ok := catches(may.Deny, c.Tool, c.Input); ok {
		return nil, refused("Permission to use %s has been denied (rule %s).", name, rule)
	}
	if s.hadAsked(name) {
		return c.Input, nil
	}
	if rule, ok := catches(may.Ask, c.Tool, c.Input); ok {
		if no := s.askPeople(ctx, agent.ToolCall{ID: id, Name: name, Input: c.Input}, rule); no != nil {
			return nil, no
		}
	}
	if s.fire == nil {
		return c.Input, nil
	}
	return s.askHooks(ctx, name, c.Input, id)
}

// askHooks asks the member's PreToolUse hooks about a call of a team tool, whose name
// is that in hooks; it answers as guard does.
func (s *seat) askHooks(
	ctx context.Context, name string, input json.RawMessage, id string,
) (json.RawMessage, *agent.ToolResult) {
	out, err := s.fire(ctx, hooks.PreToolUseInput{ToolName: name, ToolInput: input, ToolUseID: id})
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
		// Where a hook wants somebody asked there is nobody.
		reason := cmp.Or(out.Permission.Reason, "Blocked by hook")
		return nil, refused("PreToolUse:%s hook error: %s", name, reason)
	case out.UpdatedInput != nil:
		return out.UpdatedInput, nil
	}
	return input, nil
}

// refused is the answer to a call that may not run.
func refused(format string, args ...any) *agent.ToolResult {
	return &agent.ToolResult{Content: fmt.Sprintf(format, args...), IsError: true}
}

// mcpTool is a team tool's name in rules and hooks of agent programs.
func mcpTool(tool string) string { return "mcp__" + launch.MCPName + "__" + tool }

// forbids names the deny or ask rule that is against a call of a team tool, for
// callers that can ask nobody.
func (s *seat) forbids(tool string, input json.RawMessage) (rule string, yes bool) {
	may := s.rulesNow()
	return catches(slices.Concat(may.Deny, may.Ask), tool, input)
}

// rulesNow are the member's rules now: a PermissionRequest hook may have changed them.
func (s *seat) rulesNow() permission.Policy {
	if s.mate != nil {
		return s.mate.Rights().Now()
	}
	return s.permissions
}

// catches names the first rule of list that catches a call of a team tool. A rule may
// name it as agent programs do or as the builtin agent does: one that is meant for
// all members should hold for all.
func catches(list []rules.Rule, tool string, input json.RawMessage) (rule string, yes bool) {
	for _, name := range []string{mcpTool(tool), teamtools.Twins()[tool]} {
		for _, r := range list {
			if r.Forbids(rules.Call{Tool: name, Input: input}) {
				return r.String(), true
			}
		}
	}
	return "", false
}

// askPeople puts a call of a team tool before a person, if there is one; nil: it
// may run.
func (s *seat) askPeople(ctx context.Context, call agent.ToolCall, rule string) *agent.ToolResult {
	a := s.crew.asks.Asker(s.member.Name)
	if !a.Present() {
		return refused("Permission to use %s has been denied (rule %s).", call.Name, rule)
	}
	said := a.Ask(ctx, teammate.Question{Member: s.member.Name, Call: call, Reason: "ask rule " + rule})
	switch {
	case said.Allow:
		return nil
	case said.By == teammate.ByTimeLimit, said.By == "":
		return refused("Permission to use %s was not given (rule %s), for nobody answered in time.", call.Name, rule)
	}
	return refused("Permission to use %s was not given by %s (rule %s). %s", call.Name, said.By, rule, said.Said)
}

// hadAsked reports whether the program has asked for this call, and was
// allowed it: then its hooks have run. It counts for one call.
func (s *seat) hadAsked(tool string) bool {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	if s.asked[tool] == 0 {
		return false
	}
	s.asked[tool]--
	return true
}

// noteAsked takes in what a program was allowed to do. What it was allowed in
// one turn and did not do counts for nothing in the next.
func (s *seat) noteAsked(e agent.EventData) {
	switch data := e.(type) {
	case agent.TurnStarted:
		s.crew.mu.Lock()
		defer s.crew.mu.Unlock()
		clear(s.asked)
	case agent.PermissionDecided:
		if data.Decision != "allow" || !strings.HasPrefix(data.Tool, mcpTool("")) {
			return
		}
		s.crew.mu.Lock()
		defer s.crew.mu.Unlock()
		if s.asked == nil {
			s.asked = map[string]int{}
		}
		s.asked[data.Tool]++
	}
}
