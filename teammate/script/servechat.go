package script

import (
	"encoding/json"

	"github.com/coveyteam/covey/teammate/agent"
)

// chat is OpenAI's Chat Completions API, which most other providers also offer.
type chat struct{}

// chatMessage is a message of a conversation.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// read ignores sampling, seeds and log probabilities, and returns one choice only.
// A response_format of type text counts as none, because some clients always send
// it.
func (chat) read(body []byte) (*exchange, error) {
	var req struct {
		Model    string        `json:"model"`
		Stream   bool          `json:"stream"`
		Messages []chatMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Name   string          `json:"name"`
				Schema json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		StreamOptions struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		Format *struct {
			Type string     `json:"type"`
			JSON jsonFormat `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	x := &exchange{model: req.Model, stream: req.Stream, usage: req.StreamOptions.Usage}
	if f := req.Format; f != nil && f.Type != "text" {
		x.json, x.format = true, f.JSON.Schema
	}
	for _, t := range req.Tools {
		x.tools = append(x.tools, offer{name: t.Function.Name, schema: t.Function.Schema})
	}
	for _, m := range req.Messages {
		x.chatMessage(m)
	}
	return x, nil
}

// chatMessage adds one message.
func (x *exchange) chatMessage(m chatMessage) {
	if m.Role == "tool" {
		x.addResult(m.ToolCallID, textOf(m.Content))
		return
	}
	x.addText(m.Role, textOf(m.Content))
	for _, c := range m.ToolCalls {
		x.addCall(c.ID, c.Function.Name)
	}
}

// whole returns an answer with one choice.
func (chat) whole(x *exchange, a answer) any {
	// A null content marks an answer with tool calls only.
	message := object{"role": "assistant", "content": nil}
	if a.text != "" || len(a.calls) == 0 {
		message["content"] = a.text
	}
	if len(a.calls) > 0 {
		message["tool_calls"] = chatCalls(a.calls, false)
	}
	body := chatFrame(x, a, "chat.completion")
	body["choices"] = []object{{"index": 0, "message": message, "finish_reason": chatFinish(a)}}
	body["usage"] = chatUsage(a.usage)
	return body
}

// chatCalls returns the answer's tool calls. In a stream each has an index.
func chatCalls(calls []toolCall, stream bool) []object {
	var list []object
	for i, c := range calls {
		call := object{
			"id": c.id, "type": "function",
			"function": object{"name": c.tool.name, "arguments": string(c.input)},
		}
		if stream {
			call["index"] = i
		}
		list = append(list, call)
	}
	return list
}

// chatFrame returns the fields that a whole answer and each chunk of a stream
// share; kind is the object's type. Clients join the chunks with the same id.
func chatFrame(x *exchange, a answer, kind string) object {
	return object{"id": "chatcmpl-" + a.id, "object": kind, "created": a.at, "model": x.model}
}

// chatUsage returns the token counts in the form of this API. Some clients read
// only the total.
func chatUsage(u agent.Usage) object {
	return object{
		"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens,
		"total_tokens": u.InputTokens + u.OutputTokens,
	}
}

// chatFinish returns why the answer ended. Agents run tools only after tool_calls.
func chatFinish(a answer) string {
	switch {
	case a.cut:
		return "length"
	case len(a.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// events begins with the role alone and ends with [DONE], for which some clients
// wait even after the finish reason. Tool calls follow the text, one after the
// other.
func (chat) events(x *exchange, a answer) []event {
	var list []event
	chunk := func(delta object, finish any) {
		data := chatFrame(x, a, "chat.completion.chunk")
		data["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": finish}}
		list = append(list, event{data: data})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(a.text) {
		chunk(object{"content": piece}, nil)
	}
	for _, call := range chatCalls(a.calls, true) {
		// Like the API, send the name first and then the arguments.
		arguments := call["function"].(object)["arguments"].(string)
		call["function"].(object)["arguments"] = ""
		chunk(object{"tool_calls": []object{call}}, nil)
		for _, piece := range pieces(arguments) {
			chunk(object{"tool_calls": []object{{"index": call["index"],
				"function": object{"arguments": piece}}}}, nil)
		}
	}
	chunk(object{}, chatFinish(a))
	// Sent only on request, because some clients fail on a chunk without choices.
	if x.usage {
		data := chatFrame(x, a, "chat.completion.chunk")
		data["choices"], data["usage"] = []object{}, chatUsage(a.usage)
		list = append(list, event{data: data})
	}
	return append(list, event{data: rawText("[DONE]")})
}

// failure returns the error body that all of OpenAI's APIs share.
func (chat) failure(e *agent.APIError) (int, object) {
	f := faultOf(e)
	return f.status, openaiFault(f.openai, e.Message)
}
