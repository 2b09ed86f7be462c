package script

import (
	"encoding/json"
	"net/http"

	"github.com/coveyteam/covey/teammate/agent"
)

// anthropic is the Messages API.
type anthropic struct{}

// anthropicBlock is a piece of a message. Other types than these (thinking,
// images) say nothing to a script.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// read takes only what a script can see: who said what, which tools there are,
// and whether JSON is wanted. Sampling, caching and thinking make no
// difference. read understands both ways to ask for JSON: output_config and the
// older output_format. Fields that it does not know are passed over, since
// agents send betas of every kind.
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
		if json.Unmarshal(m.Content, &blocks) != nil { // content is one text
			x.speak(m.Role, textOf(m.Content))
		}
		for _, b := range blocks {
			x.anthropicBlock(m.Role, b)
		}
	}
	return x, nil
}

// jsonFormat is how an API asks for JSON.
type jsonFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// anthropicBlock takes in one block of a message.
func (x *exchange) anthropicBlock(role string, b anthropicBlock) {
	switch b.Type {
	case "text":
		x.speak(role, b.Text)
	case "tool_use":
		x.called(b.ID, b.Name)
	case "tool_result":
		x.result(b.ToolUseID, textOf(b.Content))
	}
}

// whole always has a content, be it empty: clients go through it unasked. whole
// leaves the text out where there is none: the API has no empty text blocks,
// and refuses them when an agent sends the answer back.
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

// anthropicMessage is the answer's frame, without content and end.
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

// anthropicStop is why the answer ended. A cut outweighs tool calls: what was
// cut may lack some of them. anthropicStop is why the answer ends. Agents run
// tools only after "tool_use".
func anthropicStop(a answer) string {
	switch {
	case a.cut:
		return "max_tokens"
	case len(a.calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// events opens and closes each block before the next, as the API does; clients
// find the block of a delta by its index. events sends each block between its
// start and its stop. A tool's input starts empty and comes as pieces of JSON
// text, which only together are JSON.
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

// anthropicDeltas cuts a text into deltas of one kind.
func anthropicDeltas(kind, field, text string) []object {
	var list []object
	for _, piece := range pieces(text) {
		list = append(list, object{"type": kind, field: piece})
	}
	return list
}

// failure has Anthropic's own status for being overloaded, by which its clients
// decide how long to wait. failure is the API's error body with the status that
// its clients go by.
func (anthropic) failure(e *agent.APIError) (int, object) {
	f := faultOf(e)
	return f.anthropicStatus(), object{"type": "error", "error": object{"type": f.anthropic, "message": e.Message}}
}

// countTokens answers a request for the size of a conversation. Four bytes a
// token is what English text comes to; agents only want to know whether much is
// left.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, done, err := s.readBody(w, r)
	if err != nil {
		refuse(w, anthropic{}, err)
		return
	}
	defer done()
	writeJSON(w, http.StatusOK, object{"input_tokens": len(body) / 4})
}
