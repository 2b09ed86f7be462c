package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/mailtext"
	"github.com/coveyteam/covey/tasks"
)

// commandCall is a request that does what a team tool does. A member that makes it by
// the covey command in its shell meets the same rules and hooks as one that calls the
// tool: else a policy on the tools would have a door beside it.
type commandCall interface {
	asCall() (tool string, input json.RawMessage)
}

// The requests as calls of team tools, with the tools' own fields.
func (r TaskCreate) asCall() (string, json.RawMessage) {
	return mcpCreate, rawjson.Encode(struct {
		taskCreateInput
		Owner     string   `json:"owner,omitempty"`
		BlockedBy []string `json:"blockedBy,omitempty"`
	}{taskCreateInput{Subject: r.Subject, Description: r.Description, ActiveForm: r.ActiveForm, Metadata: r.Metadata},
		r.Owner, r.BlockedBy})
}

func (r TaskUpdate) asCall() (string, json.RawMessage) {
	return mcpUpdate, rawjson.Encode(struct {
		TaskID       string                     `json:"taskId"`
		Status       *tasks.Status              `json:"status,omitempty"`
		Subject      *string                    `json:"subject,omitempty"`
		Description  *string                    `json:"description,omitempty"`
		ActiveForm   *string                    `json:"activeForm,omitempty"`
		Owner        *string                    `json:"owner,omitempty"`
		AddBlocks    []string                   `json:"addBlocks,omitempty"`
		AddBlockedBy []string                   `json:"addBlockedBy,omitempty"`
		Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
	}{r.ID, r.Status, r.Subject, r.Description, r.ActiveForm, r.Owner, r.AddBlocks, r.AddBlockedBy, r.Metadata})
}

// A claim is a TaskUpdate to the builtin agent, and so has its fields.
func (r TaskClaim) asCall() (string, json.RawMessage) {
	return mcpClaim, rawjson.Encode(map[string]string{"taskId": r.ID, "status": string(tasks.InProgress), "owner": r.As})
}

func (r Send) asCall() (string, json.RawMessage) {
	return mcpSend, rawjson.Encode(sendMessageInput{To: r.To, Message: rawjson.Encode(r.Text), Summary: r.Summary, WaitFor: r.WaitFor})
}

// guardCommand is asked before a request that a member's process makes; its error says
// who is against it. It is asked for hooks that may act, too: they act under their member's
// rules. No hook that decides about calls is one of them: it would be asked about itself. req is whatever came in; only what a
// tool could do is looked at, and the calls of tools have a guard of their own.
func (c *crew) guardCommand(ctx context.Context, member string, req any) error {
	call, ok := req.(commandCall)
	if !ok {
		return nil
	}
	s, ok := c.seat(member)
	if !ok {
		return c.board.known(member)
	}
	tool, input := call.asCall()
	name := mcpTool(tool)
	if kind := s.member.CurrentAgent().Kind; kind == configs.Builtin || kind == "" {
		name = twins()[tool]
	}
	if rule, yes := s.forbids(tool, input); yes {
		return bus.Errorf(bus.CodeDenied, "permission to use %s has been denied (rule %s)", name, rule)
	}
	if s.fire == nil {
		return nil
	}
	wanted, no := s.askHooks(ctx, name, input, "covey/"+uuid.NewString())
	if no == nil {
		return sameInput(name, input, wanted)
	}
	if no.Halted != "" {
		s.mate.Interrupt(no.Halted)
	}
	return bus.Errorf(bus.CodeDenied, "%s", no.Content)
}

// sameInput refuses a call that a hook wants to be another one: the command has been
// told what to do, and would tell its caller that it had done it.
func sameInput(name string, input, wanted json.RawMessage) error {
	var a, b any
	if bytes.Equal(input, wanted) || json.Unmarshal(input, &a) == nil && json.Unmarshal(wanted, &b) == nil &&
		fmt.Sprint(a) == fmt.Sprint(b) {
		return nil
	}
	return bus.Errorf(bus.CodeDenied, "a hook wants %s to be called with %s; do that", name, mailtext.Summary(string(wanted)))
}
