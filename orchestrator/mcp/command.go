package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// commandCall gives a request as the call of the team tool that does the same, with the tool's
// own fields; false if no tool does. A member that sends it by the covey command in its shell
// meets the same rules and hooks as one that calls the tool: else a policy on the tools could be
// avoided.
func commandCall(req any) (tool string, input json.RawMessage, is bool) {
	switch r := req.(type) {
	case api.TaskCreate:
		return teamtools.CreateTool, notation.Encode(struct {
			teamtools.TaskCreateInput
			Owner     string   `json:"owner,omitempty"`
			BlockedBy []string `json:"blockedBy,omitempty"`
		}{teamtools.TaskCreateInput{Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Metadata: r.Metadata},
			r.Owner, r.BlockedBy}), true
	case api.TaskUpdate:
		return teamtools.UpdateTool, notation.Encode(struct {
			TaskID       string                     `json:"taskId"`
			Status       *tasks.Status              `json:"status,omitempty"`
			Subject      *string                    `json:"subject,omitempty"`
			Description  *string                    `json:"description,omitempty"`
			ActiveForm   *string                    `json:"activeForm,omitempty"`
			Owner        *string                    `json:"owner,omitempty"`
			AddBlocks    []string                   `json:"addBlocks,omitempty"`
			AddBlockedBy []string                   `json:"addBlockedBy,omitempty"`
			Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
		}{r.ID, r.Status, r.Subject, r.Description, r.ActiveForm, r.Owner, r.AddBlocks, r.AddBlockedBy, r.Metadata}), true
	case api.TaskClaim: // to the builtin agent it is a TaskUpdate, and so has its fields
		return teamtools.ClaimTool, notation.Encode(map[string]string{
			"taskId": r.ID, "status": string(tasks.InProgress), "owner": r.As,
		}), true
	case api.Send:
		return teamtools.SendTool, notation.Encode(teamtools.SendMessageInput{
			To: r.To, Message: notation.Encode(r.Text), Summary: r.Summary, WaitFor: r.WaitFor,
		}), true
	}
	return "", nil, false
}

// GuardCommand is asked before a request that a member's process makes; its error says
// who is against it. It is asked for hooks that may act, too: they act under their member's
// rules. No hook that decides about calls is one of them: it would be asked about itself. req is whatever came in; only what a
// tool could do is looked at, and the calls of tools have a guard of their own.
func (s *Server) GuardCommand(ctx context.Context, member string, req any) error {
	tool, input, is := commandCall(req)
	if !is {
		return nil
	}
	c, err := s.options.Members.Caller(member)
	if err != nil {
		return err
	}
	return c.guardCommand(ctx, tool, input)
}

// guardCommand holds a command of one of the member's processes against its rules and hooks.
func (c *Caller) guardCommand(ctx context.Context, tool string, input json.RawMessage) error {
	name := ToolName(tool)
	if kind := c.member.CurrentAgent().Kind; kind == configs.Builtin || kind == "" {
		name = teamtools.Twins()[tool]
	}
	if rule, yes := c.forbids(tool, input); yes {
		return notation.Errorf(api.ErrDenied, "permission to use %s has been denied (rule %s)", name, rule)
	}
	wanted, no := c.askHooks(ctx, name, input, "covey/"+uuid.NewString())
	if no == nil {
		return sameInput(name, input, wanted)
	}
	if no.Halted != "" {
		c.mate.Interrupt(no.Halted)
	}
	return notation.Errorf(api.ErrDenied, "%s", no.Content)
}

// sameInput refuses a call that a hook wants to be another one: the command has been
// told what to do, and would tell its caller that it had done it.
func sameInput(name string, input, wanted json.RawMessage) error {
	var a, b any
	if bytes.Equal(input, wanted) || json.Unmarshal(input, &a) == nil && json.Unmarshal(wanted, &b) == nil &&
		fmt.Sprint(a) == fmt.Sprint(b) {
		return nil
	}
	return notation.Errorf(api.ErrDenied, "a hook wants %s to be called with %s; do that", name, mail.Summary(string(wanted)))
}
