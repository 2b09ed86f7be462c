package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// The answers to a server's question, as MCP has them.
const (
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// elicit answers what the server asks a person, while it works on a call of a member. Hooks may
// answer, then a person; otherwise the answer is cancel, as in recorded hosts where nobody is
// present (golden, elicitation), and people are told of the question.
func (c *client) elicit(ctx context.Context, l *life, ask *sdk.ElicitParams) *sdk.ElicitResult {
	member, over := l.caller()
	in := hooks.ElicitationInput{
		ServerName: c.Name, Message: ask.Message, Mode: cmp.Or(ask.Mode, "form"), URL: ask.URL,
		ElicitationID: ask.ElicitationID,
	}
	if ask.RequestedSchema != nil {
		in.RequestedSchema, _ = texts.Marshal(ask.RequestedSchema) // it came as JSON
	}
	out, err := c.team.Fire(ctx, member, in)
	if err != nil {
		c.team.Warn("MCP server %s asks a person, and the hooks that may answer could not run: %v",
			c.Name, err)
		return &sdk.ElicitResult{Action: actionDecline}
	}
	// If a hook has answered, those on the result do not run (golden, elicitation_hook_accept).
	if answer := answerOf(out); answer.Action != "" {
		return answer
	}
	answer := c.askPerson(ctx, member, in, over)
	result := hooks.ElicitationResultInput{
		ServerName: c.Name, Mode: in.Mode, ElicitationID: in.ElicitationID, Action: answer.Action,
	}
	if answer.Content != nil {
		result.Content, _ = texts.Marshal(answer.Content) // it is made of plain values
	}
	out, err = c.team.Fire(ctx, member, result)
	if changed := answerOf(out); err == nil && changed.Action != "" {
		answer = changed
	}
	_, _ = c.team.Fire(ctx, member, hooks.NotificationInput{ // it decides nothing
		Message:          fmt.Sprintf("Elicitation response for server %q: %s", c.Name, answer.Action),
		NotificationType: "elicitation_response",
	})
	return answer
}

// askPerson puts a form into the inbox, for as long as the member's call runs. A page to visit is
// not put there: what is typed on it would have to come from the person who sees it at once.
func (c *client) askPerson(ctx context.Context, member string, in hooks.ElicitationInput, over <-chan struct{}) *sdk.ElicitResult {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	})
	var why error
	switch {
	case in.Mode != "form":
		why = errors.New("it wants a page to be visited, which only a hook can arrange")
	case c.team.Ask == nil || member == "":
		why = errors.New("it is not known whose call the question is about")
	default:
		text := fmt.Sprintf("MCP server %s asks, for a call of %s: %s", c.Name, member, in.Message)
		action, values, err := c.team.Ask(ctx, member, text, in.RequestedSchema)
		if err == nil || ctx.Err() != nil {
			return &sdk.ElicitResult{Action: cmp.Or(action, actionCancel), Content: values}
		}
		why = err
	}
	c.team.Warn("MCP server %s asks: %s; no Elicitation hook has answered and no person can be asked (%v), "+
		"so the answer is cancel", c.Name, texts.Preview(in.Message, 200), why)
	return &sdk.ElicitResult{Action: actionCancel}
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
