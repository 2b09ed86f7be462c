package script

import (
	"encoding/json"
	"net/http"

	"github.com/coveyteam/covey/teammate/agent"
)

// anthropic is the Messages API.
type anthropic struct{}

// anthropicBlock is a content block of a message. Blocks of other types, such as
// thinking and images, are ignored.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// read decodes only what a script uses: messages, tools, and whether JSON is
// wanted, by output_config or by the older output_format. It ignores unknown
// fields, because agents send fields of many betas.
func (anthropic) read(body []byte) (*exchange, error) {
	var req struct {
		Model    string          `json:"model"`
		System   json.RawMessage `json:"system"`
		Stream   bool            `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		Output struct {
			Format *jsonFormat `json:"format"`
		} `json:"output_config"`
		OldFormat *jsonFormat `json:"output_format"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	x := &exchange{model: req.Model, stream: req.Stream, system: textOf(req.System)}
	for _, format := range []*jsonFormat{req.Output.Format, req.OldFormat} {
		if format != nil {
			x.json, x.format = true, format.Schema
		}
	}
	for _, t := range req.Tools {
		x.tools = append(x.tools, offer{name: t.Name, schema: t.Schema})
	}
	for _, m := range req.Messages {
		var blocks []anthropicBlock
		if json.Unmarshal(m.Content, &blocks) != nil { // the content is a string
			x.addText(m.Role, textOf(m.Content))
		}
		for _, b := range blocks {
			x.anthropicBlock(m.Role, b)
		}
	}
	return x, nil
}

// jsonFormat is an API's request for a JSON answer.
type jsonFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// anthropicBlock adds one block of a message.
func (x *exchange) anthropicBlock(role string, b anthropicBlock) {
	switch b.Type {
	case "text":
		x.addText(role, b.Text)
	case "tool_use":
		x.addCall(b.ID, b.Name)
	case "tool_result":
		x.addResult(b.ToolUseID, textOf(b.Content))
	}
}

// whole always sets content, even if it is empty, because clients iterate over it
// without a check. It omits an empty text block, which the API refuses when an
// agent sends the answer back.
func (anthropic) whole(x *exchange, a answer) any {
	content := []object{}
	if a.text != "" {
		content = append(content, object{"type": "text", "text": a.text})
	}
	for _, c := range a.calls {
		content = append(content, object{"type": "tool_use", "id": c.id, "name": c.tool.name, "input": c.input})
	}
	m := anthropicMessage(x, a)
	m["content"], m["stop_reason"] = content, anthropicStop(a)
	return m
}

// anthropicMessage returns the answer without content and stop reason.
func anthropicMessage(x *exchange, a answer) object {
	return object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": x.model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": a.usage.InputTokens, "output_tokens": a.usage.OutputTokens,
			"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
		},
	}
}

// anthropicStop returns why the answer ended. max_tokens takes precedence, because
// a truncated answer may lack tool calls. Agents run tools only after tool_use.
func anthropicStop(a answer) string {
	switch {
	case a.cut:
		return "max_tokens"
	case len(a.calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// events sends each block between its start and its stop, and one after the other
// as the API does, because clients find the block of a delta by its index. The
// input of a tool starts empty and follows as fragments of JSON text.
func (anthropic) events(x *exchange, a answer) []event {
	var list []event
	send := func(kind string, data object) {
		data["type"] = kind
		list = append(list, event{kind, data})
	}
	index := 0
	block := func(start object, deltas []object) {
		send("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			send("content_block_delta", object{"index": index, "delta": d})
		}
		send("content_block_stop", object{"index": index})
		index++
	}
	send("message_start", object{"message": anthropicMessage(x, a)})
	if a.text != "" {
		block(object{"type": "text", "text": ""}, anthropicDeltas("text_delta", "text", a.text))
	}
	for _, c := range a.calls {
		block(object{"type": "tool_use", "id": c.id, "name": c.tool.name, "input": object{}},
			anthropicDeltas("input_json_delta", "partial_json", string(c.input)))
	}
	send("message_delta", object{
		"delta": object{"stop_reason": anthropicStop(a), "stop_sequence": nil},
		"usage": object{"output_tokens": a.usage.OutputTokens},
	})
	send("message_stop", object{})
	return list
}

// anthropicDeltas splits a text into deltas of one kind.
func anthropicDeltas(kind, field, text string) []object {
	var list []object
	for _, piece := range pieces(text) {
		list = append(list, object{"type": kind, field: piece})
	}
	return list
}

// failure returns the API's error body with the status by which its clients decide
// whether and when to retry.
func (anthropic) failure(e *agent.APIError) (int, object) {
	f := faultOf(e)
	return f.anthropicStatus(), object{"type": "error", "error": object{"type": f.anthropic, "message": e.Message}}
}

// countTokens answers a request for the size of a conversation. Four bytes per
// token is an estimate for English text; agents only need to know whether much room
// is left.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, done, err := s.readBody(w, r)
	if err != nil {
		refuse(w, anthropic{}, err)
		return
	}
	defer done()
	writeJSON(w, http.StatusOK, object{"input_tokens": len(body) / 4})
}
