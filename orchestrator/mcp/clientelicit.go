package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
)

// The answers to a server's question, as MCP has them.
const (
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// elicit answers what the server asks a person, while it works on a call of a member. Hooks may
// answer. A form does not fit the inbox, so otherwise the answer is cancel, as in recorded hosts
// where nobody is present (golden, elicitation), and people are told of the question.
func (c *client) elicit(ctx context.Context, member string, ask *sdk.ElicitParams) *sdk.ElicitResult {
	in := hooks.ElicitationInput{
		ServerName: c.Name, Message: ask.Message, Mode: cmp.Or(ask.Mode, "form"), URL: ask.URL,
		ElicitationID: ask.ElicitationID,
	}
	if ask.RequestedSchema != nil {
		in.RequestedSchema, _ = notation.Marshal(ask.RequestedSchema) // it came as JSON
	}
	out, err := c.team.Fire(ctx, member, in)
	if err != nil {
		c.team.Report(fmt.Sprintf("MCP server %s asks a person, and the hooks that may answer could not run: %v",
			c.Name, err))
		return &sdk.ElicitResult{Action: actionDecline}
	}
	// If a hook has answered, those on the result do not run (golden, elicitation_hook_accept).
	if answer := answerOf(out); answer.Action != "" {
		return answer
	}
	c.team.Report(fmt.Sprintf("MCP server %s asks: %s; nobody can be asked for a form here and no Elicitation hook "+
		"has answered, so the answer is cancel", c.Name, notation.Preview(ask.Message, 200)))
	answer := &sdk.ElicitResult{Action: actionCancel}
	out, err = c.team.Fire(ctx, member, hooks.ElicitationResultInput{
		ServerName: c.Name, Mode: in.Mode, ElicitationID: in.ElicitationID, Action: answer.Action,
	})
	if changed := answerOf(out); err == nil && changed.Action != "" {
		answer = changed
	}
	_, _ = c.team.Fire(ctx, member, hooks.NotificationInput{ // it decides nothing
		Message:          fmt.Sprintf("Elicitation response for server %q: %s", c.Name, answer.Action),
		NotificationType: "elicitation_response",
	})
	return answer
}

// answerOf returns the answer of hooks; without an action they gave none.
func answerOf(out hooks.Outcome) *sdk.ElicitResult {
	answer := &sdk.ElicitResult{Action: out.Text("action")}
	if out.Decision == hooks.Block {
		answer.Action = actionDecline
	}
	if answer.Action == "accept" {
		// The judge of the hook has checked that it is an object. The SDK checks it against the form.
		_ = json.Unmarshal(out.Output["content"], &answer.Content)
		if answer.Content == nil {
			answer.Content = map[string]any{}
		}
	}
	return answer
}
