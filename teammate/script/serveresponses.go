package script

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// responses is OpenAI's Responses API, as Codex speaks it.
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

// responseTool is a tool, or a namespace with tools in it.
type responseTool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"parameters"`
	Tools  []responseTool  `json:"tools"`
}

// read refuses what would need a memory of earlier responses: a wrong answer
// would look right for a while. Codex over HTTP sends all each time. read
// refuses what only a server with a memory could answer. The input is a text or
// a list of items; anything else is the client's mistake.
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
		x.user(textOf(req.Input))
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

// responseTool takes in a tool. Those that the API itself would run, such as a
// web search, are none that a script can call.
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

// coveyNamespace is what Codex calls the tools of covey's MCP server.
const coveyNamespace = "mcp__covey"

// responseItem takes in one entry of the input.
func (x *exchange) responseItem(item responseItem) {
	switch item.Type {
	case "message", "":
		x.speak(item.Role, textOf(item.Content))
	case "function_call", "custom_tool_call":
		if item.Namespace == coveyNamespace {
			item.Namespace += "__" // as Codex wrote it itself before 0.166
		}
		// Together they are the name in its MCP form, which fits understands.
		x.called(item.CallID, item.Namespace+item.Name)
	case "function_call_output", "custom_tool_call_output":
		x.result(item.CallID, textOf(item.Output))
	}
}

// whole is also what a stream ends with, so both hold the same. whole is the
// response as it is in the end; a stream's last event holds it as well.
func (responses) whole(x *exchange, a answer) any {
	output := []object{}
	for _, item := range responseOutput(a) {
		output = append(output, item.done)
	}
	body := responseFrame(x, a, responseStatus(a))
	body["output"], body["usage"] = output, responseUsage(a.usage)
	return body
}

// responseStatus is the word for how it ended; the last event of a stream is
// named after it. responseStatus is how the answer ended. The last event of a
// stream is named after it.
func responseStatus(a answer) string {
	if a.cut {
		return "incomplete"
	}
	return "completed"
}

// responseFrame is the response without what came out.
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

// responseUsage has the details, too: Codex does not decode a usage without
// them. responseUsage are the token counts in this API's words. The details are
// part of the API's form; a script caches nothing and thinks of nothing.
func responseUsage(u agent.Usage) object {
	return object{
		"input_tokens": u.InputTokens, "output_tokens": u.OutputTokens, "total_tokens": u.InputTokens + u.OutputTokens,
		"input_tokens_details":  object{"cached_tokens": 0},
		"output_tokens_details": object{"reasoning_tokens": 0},
	}
}

// failure comes before the stream has begun, so it has a status like any other.
// failure is the error body that all of OpenAI's APIs share.
func (responses) failure(e *agent.APIError) (int, object) {
	f := faultOf(e)
	return f.status, openaiFault(f.openai, e.Message)
}
