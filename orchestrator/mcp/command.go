package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// commandCall converts a request to a call of the team tool that does the same.
// It is not ok if there is none. So the rules and hooks for a tool also apply to
// covey commands in a member's shell, which could otherwise bypass a policy on
// the tools.
func commandCall(req any) (tool string, input json.RawMessage, is bool) {
	switch r := req.(type) {
	case api.TaskCreate:
		return teamtools.CreateTool, texts.Encode(struct {
			teamtools.TaskCreateInput
			Owner     string   `json:"owner,omitempty"`
			BlockedBy []string `json:"blockedBy,omitempty"`
		}{teamtools.TaskCreateInput{Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Metadata: r.Metadata},
			r.Owner, r.BlockedBy}), true
	case api.TaskUpdate:
		in := teamtools.TaskUpdateInput{
			TaskID: r.ID, Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Owner: r.Owner,
			AddBlocks: r.AddBlocks, AddBlockedBy: r.AddBlockedBy, Metadata: r.Metadata,
		}
		if r.Status != nil {
			in.Status = string(*r.Status)
		}
		return teamtools.UpdateTool, texts.Encode(in), true
	case api.TaskClaim: // the builtin agent claims with TaskUpdate, so the call has its fields
		return teamtools.ClaimTool, texts.Encode(map[string]string{
			"taskId": r.ID, "status": string(tasks.InProgress), "owner": r.As,
		}), true
	case api.Send:
		return teamtools.SendTool, texts.Encode(teamtools.SendMessageInput{
			To: r.To, Message: texts.Encode(r.Text), Summary: r.Summary, WaitFor: r.WaitFor,
		}), true
	}
	return "", nil, false
}

// GuardCommand checks a request from a member's process, or from a hook with
// may_act, by the member's rules and hooks. Its error names the rule or hook that
// refuses the request. Hooks that decide about calls cannot have may_act, since
// they would decide about their own calls. Requests that no tool could make pass;
// calls of tools have their own guard.
func (s *Server) GuardCommand(ctx context.Context, member string, req any) error {
	tool, input, is := commandCall(req)
	if !is {
		return nil
	}
	c, ok := s.deps.Members.Caller(member)
	if !ok {
		return s.deps.NoSeat(member)
	}
	return c.guardCommand(ctx, tool, input)
}

// guardCommand checks a command of one of the member's processes by its rules and
// hooks.
func (c *Caller) guardCommand(ctx context.Context, tool string, input json.RawMessage) error {
	name := ToolName(tool)
	if kind := c.Member.CurrentAgent().Kind; kind == configs.Builtin || kind == "" {
		name = teamtools.Twins()[tool]
	}
	if rule, yes := c.forbids(tool, input); yes {
		return texts.Errorf(api.ErrDenied, "permission to use %s has been denied (rule %s)", name, rule)
	}
	wanted, no := c.askHooks(ctx, name, input, "covey/"+uuid.NewString())
	if no == nil {
		return sameInput(name, input, wanted)
	}
	if no.Halted != "" {
		c.Teammate.Interrupt(no.Halted)
	}
	return texts.Errorf(api.ErrDenied, "%s", no.Content)
}

// sameInput returns an error if a hook wants to change the input of a call,
// because the command would report to its caller that it has done what it was
// told.
func sameInput(name string, input, wanted json.RawMessage) error {
	var a, b any
	if bytes.Equal(input, wanted) || json.Unmarshal(input, &a) == nil && json.Unmarshal(wanted, &b) == nil &&
		fmt.Sprint(a) == fmt.Sprint(b) {
		return nil
	}
	return texts.Errorf(api.ErrDenied, "a hook wants %s to be called with %s; do that", name, mail.Summary(string(wanted)))
}
