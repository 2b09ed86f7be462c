package builtin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
)

// sender is a tool for messages that also resumes helpers to which messages are
// addressed.
type sender struct {
	agent.Tool
	agent *agentTool
}

// ForHelpers returns send, the member's tool for messages, extended for helpers: a
// message to the id of a helper that has ended resumes it with its conversation.
// The result of the call is the helper's report. agent is the result of
// NewAgentTool.
func ForHelpers(send, agent agent.Tool) agent.Tool {
	a, ok := agent.(*agentTool)
	if !ok {
		return send
	}
	return &sender{send, a}
}

// Repair implements agent.Repairer.
func (s *sender) Repair(input json.RawMessage) json.RawMessage {
	if r, ok := s.Tool.(agent.Repairer); ok {
		return r.Repair(input)
	}
	return input
}

// Delegate implements teammate.Delegator.
func (s *sender) Delegate(ctx context.Context, call agent.ToolCall, e teammate.Employer) agent.ToolResult {
	var in struct {
		To      string          `json:"to"`
		Message json.RawMessage `json:"message"`
		Summary string          `json:"summary"`
	}
	if json.Unmarshal(call.Input, &in) != nil || !teammate.IsHelperID(in.To) {
		return s.Run(ctx, call)
	}
	var text string
	if json.Unmarshal(in.Message, &text) != nil || text == "" {
		return agent.Failed("SendMessage: message is a text for the helper; write what it has to do.")
	}
	asked, kind := agentInput{Description: in.Summary, Prompt: text}, HelperType{}
	help := e.Help(ctx, teammate.Helper{
		Call: call.ID, Continue: in.To, Description: in.Summary, Prompt: text,
		Equip: func(set teammate.HelperSetting) (teammate.HelperGear, error) {
			var err error
			if kind, err = s.agent.kind(set.Type); err != nil {
				return teammate.HelperGear{}, fmt.Errorf("helper %s cannot go on: %w", set.ID, err)
			}
			return s.agent.equip(set, kind, asked)
		},
	})
	if help.Problem != "" {
		return agent.Failed("%s", failureText(help))
	}
	output := newAgentOutput(asked, kind, help)
	return tools.Success(output.text(), output)
}
