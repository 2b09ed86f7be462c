package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// asideText answers what agents ask on the side, unless the script has a helper
// for it.
const asideText = "ok"

// reply is the script's answer to x, or the *APIError that it gives instead, or
// ctx's error. The order is the point: first what the conversation proves, then
// what only this server remembers, then the script; what has served is noted
// last, so that a request that was hung up on costs no step.
func (s *Server) reply(ctx context.Context, x *exchange) (answer, error) {
	a := answer{id: fmt.Sprintf("%s_%d", s.began, s.count.Add(1)), at: s.now().Unix()}
	name, script, err := s.scriptFor(x)
	if err != nil {
		return a, &agent.APIError{Type: "model_not_found", Message: err.Error(), Fatal: true}
	}
	if x.aside() {
		return a, aside(ctx, script, x, &a)
	}
	// The key parts members that share a script, and so may share their first words.
	served, fresh := script.replay(x.messages)
	places := placesOf(name+"\x00"+x.key, x.messages)
	s.unseen.recall(places, served)
	err = play(ctx, script, request{x, served, fresh}, &a)
	switch step := a.step; {
	case step == nil: // nothing has served
	// ctx cannot have ended here: then no step would have served.
	case err != nil || a.text == "" && len(a.calls) == 0:
		served[*step]++
		s.unseen.remember(places, served)
	default:
		s.unseen.forget(places)
	}
	return a, err
}

// request is what a script is asked: an exchange and what replay found in it.
type request struct {
	*exchange
	served map[int]int
	fresh  int
}

// play lets the script answer into a. It makes a model of its own for each
// request: all that it has to know is in req, and nothing is left behind.
func play(ctx context.Context, script *Script, req request, a *answer) error {
	resp, err := script.Model(&Options{Served: maps.Clone(req.served)}).Generate(ctx,
		agent.Request{System: req.system, Messages: req.messages, New: req.fresh})
	a.usage, a.step = resp.Usage, resp.Step
	var failure *agent.APIError
	if errors.As(err, &failure) && failure.Type == "max_output_tokens" {
		// No API has an error for it: the answer just ends too early.
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

// aside reports whether x is no pass of a conversation but something that the
// agent asks on the side: a title, a summary, whether the topic is new. Passes
// offer tools. Requests of people who try the server out have neither tools nor
// a system prompt, and are passes.
func (x *exchange) aside() bool {
	return len(x.tools) == 0 && (x.system != "" || x.json)
}

// aside answers x from the script's helpers, or with a word that means nothing.
func aside(ctx context.Context, script *Script, x *exchange, a *answer) error {
	prompt := x.system
	if len(x.messages) > 0 {
		prompt += "\n" + x.messages[0].Text()
	}
	if helper, found := script.Helper(prompt); found {
		served, fresh := helper.replay(x.messages)
		return play(ctx, helper, request{x, served, fresh}, a)
	}
	a.text = asideText
	// An agent that asks for JSON fails on anything else, and some retry for long.
	if x.json {
		a.text = string(sample(x.format, 0))
	}
	return ctx.Err()
}

// sample is a value that a JSON Schema allows: the first of an enumeration,
// nothing that is not required. It follows no references; what it does not
// understand becomes an empty object.
func sample(schema json.RawMessage, depth int) json.RawMessage {
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Enum       []json.RawMessage          `json:"enum"`
		Const      json.RawMessage            `json:"const"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if depth > maxDepth || json.Unmarshal(schema, &s) != nil {
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
		return notation.Encode(asideText)
	case "number", "integer":
		return json.RawMessage(`0`)
	case "boolean":
		return json.RawMessage(`false`)
	case "array":
		return json.RawMessage(`[]`)
	case "null":
		return json.RawMessage(`null`)
	}
	// No type, or one that nobody knows, is an object: what agents ask for is one.
	object := map[string]json.RawMessage{}
	for _, key := range s.Required {
		object[key] = sample(s.Properties[key], depth+1)
	}
	return notation.Encode(object)
}
