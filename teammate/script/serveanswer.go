package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// sideText answers side requests, unless the script has a helper for them.
const sideText = "ok"

// reply returns the script's answer to x, its *APIError, or ctx's error. It first
// counts the steps that the conversation proves, then those that only this server
// remembers, and then runs the script. Steps are recorded last, so that a cancelled
// request uses up no step.
func (s *Server) reply(ctx context.Context, x *exchange) (answer, error) {
	a := answer{id: fmt.Sprintf("%s_%d", s.began, s.count.Add(1)), at: s.now().Unix()}
	name, script, err := s.scriptFor(x)
	if err != nil {
		return a, &agent.APIError{Type: "model_not_found", Message: err.Error(), End: events.EndModelError}
	}
	if x.isSideRequest() {
		return a, answerSide(ctx, script, x, &a)
	}
	// The key distinguishes members that share a script and begin with the same messages.
	served, fresh := script.replay(x.messages)
	places := placesOf(name+"\x00"+x.key, x.messages)
	s.unseen.recall(places, served)
	err = play(ctx, script, request{x, served, fresh}, &a)
	switch step := a.step; {
	case step == nil: // no step has served
	// ctx has not ended here, because then no step would have served.
	case err != nil || a.text == "" && len(a.calls) == 0:
		served[*step]++
		s.unseen.remember(places, served)
	default:
		s.unseen.forget(places)
	}
	return a, err
}

// request is the input of a script: an exchange and the result of replay.
type request struct {
	*exchange
	served map[int]int
	fresh  int
}

// play runs the script for req and stores its answer in a. It makes a new model for
// each request, because req holds all the state.
func play(ctx context.Context, script *Script, req request, a *answer) error {
	resp, err := script.Model(&Options{Served: maps.Clone(req.served)}).Generate(ctx,
		agent.Request{System: req.system, Messages: req.messages, New: req.fresh})
	a.usage, a.step = resp.Usage, resp.Step
	if failure, ok := errors.AsType[*agent.APIError](err); ok && failure.Type == "max_output_tokens" {
		// No API has an error for this; the answer ends early instead.
		a.cut = true
		return nil
	}
	for _, b := range resp.Content {
		switch b.Type {
		case agent.TextBlock:
			a.text = b.Text
		case agent.ToolUseBlock:
			tool, input := choose(b.Name, b.Input, req.tools)
			a.calls = append(a.calls, toolCall{id: b.ID, tool: tool, input: input})
		}
	}
	return err
}

// isSideRequest reports whether x is not a pass of a conversation but a request of
// the agent on the side: for a title, a summary, or whether the topic has changed.
// Passes offer tools. A request with neither tools nor a system prompt, such as one
// from curl, is a pass.
func (x *exchange) isSideRequest() bool {
	return len(x.tools) == 0 && (x.system != "" || x.json)
}

// answerSide answers x from the script's helpers, or with sideText.
func answerSide(ctx context.Context, script *Script, x *exchange, a *answer) error {
	prompt := x.system
	if len(x.messages) > 0 {
		prompt += "\n" + x.messages[0].Text()
	}
	if helper, found := script.Helper(prompt); found {
		served, fresh := helper.replay(x.messages)
		return play(ctx, helper, request{x, served, fresh}, a)
	}
	a.text = sideText
	// An agent that asks for JSON fails on anything else, and some agents retry many times.
	if x.json {
		a.text = string(sample(x.format, 0))
	}
	return ctx.Err()
}

// maxSample is how deep the objects of a sample may nest.
const maxSample = 100

// sample returns a value that a JSON Schema allows: the first value of an
// enumeration, and only the required fields. It does not follow references; a
// schema that it does not understand gives an empty object.
func sample(schema json.RawMessage, depth int) json.RawMessage {
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Enum       []json.RawMessage          `json:"enum"`
		Const      json.RawMessage            `json:"const"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if depth > maxSample || json.Unmarshal(schema, &s) != nil {
		return json.RawMessage(`{}`)
	}
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	switch typeName(s.Type) {
	case "string":
		return texts.Encode(sideText)
	case "number", "integer":
		return json.RawMessage(`0`)
	case "boolean":
		return json.RawMessage(`false`)
	case "array":
		return json.RawMessage(`[]`)
	case "null":
		return json.RawMessage(`null`)
	}
	// A missing or unknown type counts as an object, which is what agents ask for.
	object := map[string]json.RawMessage{}
	for _, key := range s.Required {
		object[key] = sample(s.Properties[key], depth+1)
	}
	return texts.Encode(object)
}
