package script

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// responses is OpenAI's Responses API, as Codex uses it.
type responses struct{}

// responseItem is one entry of a request's input.
type responseItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Output    json.RawMessage `json:"output"`
}

// responseTool is a tool, or a namespace that contains tools.
type responseTool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"parameters"`
	Tools  []responseTool  `json:"tools"`
}

// read refuses a request that refers to an earlier response, because the server
// stores none; Codex sends the whole input each time over HTTP. The input is a text
// or a list of items.
func (responses) read(body []byte) (*exchange, error) {
	var req struct {
		Model        string          `json:"model"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Previous     string          `json:"previous_response_id"`
		Stream       bool            `json:"stream"`
		Tools        []responseTool  `json:"tools"`
		Text         struct {
			Format *jsonFormat `json:"format"`
		} `json:"text"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	if req.Previous != "" {
		return nil, errors.New("previous_response_id: nothing is stored here; send the whole input with each request")
	}
	x := &exchange{model: req.Model, stream: req.Stream, system: req.Instructions}
	if f := req.Text.Format; f != nil && f.Type != "text" {
		x.json, x.format = true, f.Schema
	}
	for _, t := range req.Tools {
		x.responseTool(t)
	}
	if strings.HasPrefix(strings.TrimSpace(string(req.Input)), `"`) {
		x.addUserText(textOf(req.Input))
		return x, nil
	}
	var items []responseItem
	if len(req.Input) > 0 {
		if err := decode(req.Input, &items); err != nil {
			return nil, err
		}
	}
	for _, item := range items {
		x.responseItem(item)
	}
	return x, nil
}

// responseTool adds a tool. It skips tools that the API itself would run, such as a
// web search, because a script cannot call them.
func (x *exchange) responseTool(t responseTool) {
	switch t.Type {
	case "function":
		x.tools = append(x.tools, offer{name: t.Name, schema: t.Schema})
	case "custom":
		x.tools = append(x.tools, offer{name: t.Name, freeform: true})
	case "tool_search":
		x.tools = append(x.tools, offer{namespace: coveyNamespace, search: true})
	case "namespace":
		for _, inner := range t.Tools {
			x.tools = append(x.tools, offer{
				name: inner.Name, namespace: t.Name, schema: inner.Schema, freeform: inner.Type == "custom",
			})
		}
	}
}

// coveyNamespace is Codex's namespace for the tools of covey's MCP server.
const coveyNamespace = "mcp__covey"

// responseItem adds one entry of the input.
func (x *exchange) responseItem(item responseItem) {
	switch item.Type {
	case "message", "":
		x.addText(item.Role, textOf(item.Content))
	case "function_call", "custom_tool_call":
		if item.Namespace == coveyNamespace {
			item.Namespace += "__" // the form of Codex before 0.166
		}
		// Namespace and name form the MCP name, which fits understands.
		x.addCall(item.CallID, item.Namespace+item.Name)
	case "function_call_output", "custom_tool_call_output":
		x.addResult(item.CallID, textOf(item.Output))
	}
}

// whole returns the completed response, which the last event of a stream holds as
// well.
func (responses) whole(x *exchange, a answer) any {
	output := []object{}
	for _, item := range responseOutput(a) {
		output = append(output, item.done)
	}
	body := responseFrame(x, a, responseStatus(a))
	body["output"], body["usage"] = output, responseUsage(a.usage)
	return body
}

// responseStatus returns how the answer ended. The last event of a stream is named
// after it.
func responseStatus(a answer) string {
	if a.cut {
		return "incomplete"
	}
	return "completed"
}

// responseFrame returns the response without output.
func responseFrame(x *exchange, a answer, status string) object {
	body := object{
		"id": "resp_" + a.id, "object": "response", "created_at": a.at, "status": status, "model": x.model,
		"output": []object{}, "error": nil, "incomplete_details": nil, "usage": nil, "parallel_tool_calls": true,
	}
	if status == "incomplete" {
		body["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	return body
}

// responseUsage returns the token counts in the form of this API. The details are
// always zero, but Codex does not decode a usage without them.
func responseUsage(u agent.Usage) object {
	return object{
		"input_tokens": u.InputTokens, "output_tokens": u.OutputTokens, "total_tokens": u.InputTokens + u.OutputTokens,
		"input_tokens_details":  object{"cached_tokens": 0},
		"output_tokens_details": object{"reasoning_tokens": 0},
	}
}

// failure returns the error body that all of OpenAI's APIs share. It is sent before
// a stream begins, so it has a status.
func (responses) failure(e *agent.APIError) (int, object) {
	f := faultOf(e)
	return f.status, openaiFault(f.openai, e.Message)
}
