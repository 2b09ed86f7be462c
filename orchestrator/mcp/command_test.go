package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/permission"
)

// commandCalls are requests of all kinds that a tool could have made.
func commandCalls() []any {
	status, owner := tasks.Completed, "ana"
	return []any{
		api.TaskCreate{Subject: "s", Description: "d", As: "ana", Metadata: map[string]json.RawMessage{"k": texts.Encode(1)}},
		api.TaskUpdate{ID: "1", Status: &status, Owner: &owner, AddBlockedBy: []string{"2"}, As: "ana"},
		api.TaskClaim{ID: "1", As: "ana"},
		api.Send{To: "lead", Text: "hello", Summary: "hi", As: "ana"},
	}
}

// TestCommandCallsFitTheirTools: what hooks see of a command is what the builtin
// agent's tool would have been called with, so that one policy reads both.
func TestCommandCallsFitTheirTools(t *testing.T) {
	tools, err := newRig(t).board.Tools(teamtools.BuiltinNames, teamtools.Caller{Member: &members.Member{Member: &configs.Member{}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range commandCalls() {
		tool, input, _ := commandCall(call)
		i := slices.IndexFunc(tools, func(known teamtools.Tool) bool { return known.Spec().Name == teamtools.Twins()[tool] })
		if i < 0 {
			t.Errorf("%T: no tool %q", call, tool)
			continue
		}
		if _, err := permission.PrepareInput(tools[i], input); err != nil {
			t.Errorf("%T: %s: %v", call, input, err)
		}
	}
}

// guardRig is a server whose member ana has no rules, and hooks that answer as told. asked
// are the tools that they were asked about.
func guardRig(t *testing.T, kind configs.AgentKind, out hooks.Outcome, err error) (server *Server, asked *[]string) {
	r, asked := newRig(t), &[]string{}
	ana := &members.Member{Member: &configs.Member{Name: "ana", Agent: configs.Agent{Kind: kind}}}
	r.callers["ana"] = &Caller{Member: ana, Life: &members.Life{}, Rights: permission.NewRights(permission.Policy{}, nil), Teammate: fakeMate{
		fire: func(_ context.Context, p hooks.Payload) (hooks.Outcome, error) {
			*asked = append(*asked, p.(hooks.PreToolUseInput).ToolName)
			return out, err
		},
	}}
	return r.server, asked
}

// TestGuardCommandAsksHooks: under the tool's name as the member's own agent has it.
func TestGuardCommandAsksHooks(t *testing.T) {
	for kind, want := range map[configs.AgentKind]string{
		configs.Builtin: "TaskCreate TaskUpdate TaskUpdate SendMessage",
		configs.ACP: "mcp__covey__team_task_create mcp__covey__team_task_update mcp__covey__team_task_claim " +
			"mcp__covey__team_send_message",
	} {
		c, asked := guardRig(t, kind, hooks.Outcome{Decision: hooks.Pass}, nil)
		for _, call := range commandCalls() {
			if err := c.GuardCommand(t.Context(), "ana", call); err != nil {
				t.Errorf("%s %T: %v", kind, call, err)
			}
		}
		if got := strings.Join(*asked, " "); got != want {
			t.Errorf("%s: asked about %s, want %s", kind, got, want)
		}
		if err := c.GuardCommand(t.Context(), "ana", api.TeamCall{Tool: teamtools.SendTool}); err != nil || len(*asked) != 4 {
			t.Errorf("%s: a tool's call has a guard of its own: %v, %v", kind, err, *asked)
		}
	}
}

// TestGuardCommandRefuses: whatever a hook answers but a plain yes is a no that says why.
func TestGuardCommandRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		out  hooks.Outcome
		err  error
		want string // empty: it may
	}{
		"block": {hooks.Outcome{Decision: hooks.Block, Feedback: []string{"no way"}}, nil, "no way"},
		"deny": {hooks.Outcome{Permission: hooks.Permission{Decision: "deny", Reason: "why"}}, nil,
			"hook error: why"},
		"ask":     {hooks.Outcome{Permission: hooks.Permission{Decision: "ask"}}, nil, "Blocked by hook"},
		"trouble": {hooks.Outcome{}, errors.New("broken"), "could not run, so it was not run: broken"},
		"changed": {hooks.Outcome{UpdatedInput: texts.Encode(map[string]string{"to": "lead"})}, nil,
			`called with {"to":"lead"}`},
		"same": {hooks.Outcome{UpdatedInput: json.RawMessage(
			`{"summary": "hi", "message": "hello", "to": "lead"}`)}, nil, ""},
		"allow": {hooks.Outcome{Permission: hooks.Permission{Decision: "allow"}}, nil, ""},
	} {
		c, _ := guardRig(t, configs.Builtin, test.out, test.err)
		err := c.GuardCommand(t.Context(), "ana", api.Send{To: "lead", Text: "hello", Summary: "hi"})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (!errors.Is(err, api.ErrDenied) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	c, _ := guardRig(t, configs.Builtin, hooks.Outcome{}, nil)
	if err := c.GuardCommand(t.Context(), "bob", api.Send{}); err == nil {
		t.Error("a member that there is not may send")
	}
}
