package modelapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// responses speaks OpenAI's Responses API. It asks the provider to store nothing.
type responses struct{ wire }

// answer makes one request, and a second one without the reasoning of earlier answers if
// the provider cannot read it any more.
func (p responses) answer(ctx context.Context, req agent.Request) (agent.Response, error) {
	r, err := p.ask(ctx, req, true)
	if f, ok := errors.AsType[*failure](err); ok && strings.Contains(f.Details, "invalid_encrypted_content") {
		return p.ask(ctx, req, false)
	}
	return r, err
}

func (p responses) ask(ctx context.Context, req agent.Request, reasoning bool) (agent.Response, error) {
	a := responsesAnswer{wire: p.wire, draft: req.Draft, items: map[int]json.RawMessage{}}
	if err := p.stream(ctx, "/responses", p.body(req), payload{p.conversation(req.Messages, reasoning)}, &a, req.Say); err != nil {
		return agent.Response{Usage: a.end.tokens()}, err
	}
	return a.response(req)
}

// plain matches the models that do not reason.
var plain = texts.Pattern(`^(?:gpt-[34]|chatgpt-)`)

// body returns the body of a request. The reasoning comes back encrypted, since nothing of
// it is stored; models that do not reason refuse to be asked for it. The conversation is missing: see
// fill.
func (p responses) body(req agent.Request) object {
	b := object{
		"model": p.Model, "stream": true, "store": false, "input": hole,
		"parallel_tool_calls": true,
	}
	if req.System != "" {
		b["instructions"] = req.System
	}
	if !plain().MatchString(p.Model) {
		b["include"] = []string{"reasoning.encrypted_content"}
		if level := p.Thinking; level != "" && level != "off" {
			b["reasoning"] = object{"effort": level}
		}
	}
	if len(req.Tools) > 0 {
		tools := make([]object, len(req.Tools))
		for i, t := range req.Tools {
			tools[i] = object{
				"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Schema, "strict": false,
			}
		}
		b["tools"] = tools
	}
	if p.MaxOutput > 0 {
		b["max_output_tokens"] = p.MaxOutput
	}
	if p.Temperature != nil {
		b["temperature"] = *p.Temperature
	}
	return b
}

// conversation encodes messages. Without reasoning it is a conversation of its own, which is not kept.
func (p responses) conversation(list []agent.Message, reasoning bool) []byte {
	kept := p.sent
	if !reasoning {
		kept = &encoded{}
	}
	text, _ := kept.list(list, func(m agent.Message) ([]byte, int) { return joined(p.items(m, reasoning)), -1 })
	return text
}

// items converts a message to items of a conversation.
func (p responses) items(m agent.Message, reasoning bool) []any {
	var items []any
	for _, b := range m.Content {
		switch b.Type {
		case agent.TextBlock:
			kind := "input_text"
			if m.Role == agent.Assistant {
				kind = "output_text"
			}
			items = append(items, object{
				"type": "message", "role": m.Role, "content": []object{{"type": kind, "text": b.Text}},
			})
		case agent.ToolUseBlock:
			items = append(items, object{
				"type": "function_call", "call_id": b.ID, "name": b.Name, "arguments": string(agent.ValidInput(b.Input)),
			})
		case agent.ToolResultBlock:
			items = append(items, object{"type": "function_call_output", "call_id": b.ToolUseID, "output": output(b)})
		case agent.ThinkingBlock:
			if reasoning && b.Model == p.Name() && json.Valid(b.Raw) {
				items = append(items, b.Raw)
			}
		}
	}
	return items
}

// output returns a result: a text, or a list if it has images. Some hosts refuse an image without its
// default detail.
func output(b agent.Block) any {
	if len(b.Images) == 0 {
		return resultText(b)
	}
	return parts(object{"type": "input_text", "text": b.Content}, b.Images, func(i agent.Image) any {
		return object{"type": "input_image", "detail": "auto", "image_url": dataURL(i)}
	})
}

// resultText returns the text of a result for APIs that do not mark errors. Models take the
// first word for what it is.
func resultText(b agent.Block) string {
	if b.IsError {
		return "Error: " + b.Content
	}
	return b.Content
}

// responsesAnswer is an answer that arrives. Only complete items count: deltas repeat what
// an item's last event holds in full. Some hosts fill only the response object at the end.
type responsesAnswer struct {
	wire  wire
	draft agent.Draft             // takes the texts as they arrive
	items map[int]json.RawMessage // that are complete, by their place
	end   responsesEnd
}

// responsesEnd is the response object of the last event.
type responsesEnd struct {
	Output     []json.RawMessage `json:"output"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached struct {
			Tokens int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

// tokens returns what was reported.
func (e *responsesEnd) tokens() agent.Usage {
	if e.Usage == nil {
		return agent.Usage{}
	}
	return agent.Usage{
		InputTokens: e.Usage.Input, OutputTokens: e.Usage.Output, CacheReadTokens: e.Usage.Cached.Tokens,
	}
}

// see processes one event.
func (a *responsesAnswer) see(data []byte) (complete bool, err error) {
	var e struct {
		Type     string          `json:"type"`
		Delta    json.RawMessage `json:"delta"` // a text in most events that have one
		Index    int             `json:"output_index"`
		Item     json.RawMessage `json:"item"`
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return false, a.wire.malformed(data, err)
	}
	switch e.Type {
	case "response.output_text.delta":
		var piece string
		if json.Unmarshal(e.Delta, &piece) == nil { // the complete item is what counts
			a.draft.Add(piece)
		}
	case "response.output_text.done":
		a.draft.Add("\n") // another text may follow
	case "response.output_item.done":
		a.items[e.Index] = e.Item
	case "response.completed", "response.incomplete", "response.failed":
		if err := json.Unmarshal(e.Response, &a.end); err != nil {
			return false, a.wire.malformed(data, err)
		}
		if e.Type == "response.failed" {
			return false, a.wire.failed(0, parseError(encode(object{"error": a.end.Error})))
		}
		return true, nil
	case "error":
		return false, a.wire.failed(0, parseError(data))
	}
	return false, nil
}

// unfold implements answering.
func (a *responsesAnswer) unfold(data []byte) [][]byte {
	var r struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(data, &r) != nil {
		return nil
	}
	return [][]byte{encode(object{"type": "response." + cmp.Or(r.Status, "completed"), "response": json.RawMessage(data)})}
}

// response returns the complete answer.
func (a *responsesAnswer) response(req agent.Request) (agent.Response, error) {
	items := a.end.Output
	if len(a.items) > 0 {
		items = nil
		for _, i := range slices.Sorted(maps.Keys(a.items)) {
			items = append(items, a.items[i])
		}
	}
	r := agent.Response{Usage: a.end.tokens()}
	nothing := r
	var declined []string
	for _, item := range items {
		blocks, refused, err := itemBlocks(item, a.wire.Name())
		if err != nil {
			return nothing, a.wire.malformed(item, err)
		}
		r.Content = append(r.Content, blocks...)
		declined = append(declined, refused...)
	}
	if len(declined) > 0 || a.end.Incomplete.Reason == "content_filter" {
		return nothing, refusal(strings.Join(declined, "\n"))
	}
	r.CutOff = a.end.Incomplete.Reason != ""
	if a.end.Usage == nil {
		r.Usage = estimate(req, r.Content)
	}
	return r, nil
}

// itemBlocks converts one item of an answer; an item of an unknown type has no blocks.
// refused holds the words with which the model declines, which are not an answer.
func itemBlocks(data json.RawMessage, model string) (blocks []agent.Block, refused []string, err error) {
	var item struct {
		Type    string `json:"type"`
		Content []struct {
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
		} `json:"content"`
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"`
		ID        string `json:"id"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	if err := json.Unmarshal(data, &item); err != nil {
		return nil, nil, err
	}
	switch item.Type {
	case "message":
		for _, part := range item.Content {
			if part.Refusal != "" {
				refused = append(refused, part.Refusal)
			}
			blocks = append(blocks, agent.Block{Type: agent.TextBlock, Text: part.Text})
		}
	case "function_call":
		blocks = append(blocks, agent.Block{
			Type: agent.ToolUseBlock, ID: cmp.Or(item.CallID, item.ID), Name: item.Name, Input: json.RawMessage(item.Arguments),
		})
	case "reasoning":
		var texts []string
		for _, s := range item.Summary {
			texts = append(texts, s.Text)
		}
		blocks = append(blocks, agent.Block{
			Type: agent.ThinkingBlock, Thinking: strings.Join(texts, "\n"), Raw: data, Model: model,
		})
	}
	return blocks, refused, nil
}

// encode returns v as JSON in one line.
func encode(v any) json.RawMessage { return bytes.TrimSpace(texts.Encode(v)) }
