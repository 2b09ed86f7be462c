package modelapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// chat speaks the Chat Completions API, with the liberties that its many hosts take.
type chat struct{ wire }

// answer makes one request.
func (p chat) answer(ctx context.Context, req agent.Request) (agent.Response, error) {
	a := chatAnswer{wire: p.wire, draft: req.Draft}
	err := p.stream(ctx, "/chat/completions", p.body(req), p.conversation(req), &a, req.Say)
	if err != nil && (a.finish == "" || ctx.Err() != nil) { // some hosts end without [DONE]
		return agent.Response{Usage: a.usage.tokens()}, err
	}
	return a.response(req)
}

// body returns the body of a request. The conversation is missing: see fill.
func (p chat) body(req agent.Request) object {
	b := object{
		"model": p.Model, "stream": true, "stream_options": object{"include_usage": true},
		"messages": hole,
	}
	if len(req.Tools) > 0 {
		tools := make([]object, len(req.Tools))
		for i, t := range req.Tools {
			tools[i] = object{"type": "function", "function": object{
				"name": t.Name, "description": t.Description, "parameters": t.Schema,
			}}
		}
		b["tools"] = tools
	}
	if p.MaxOutput > 0 {
		name := "max_tokens"
		if p.BaseURL == "https://api.openai.com/v1" { // its newer models refuse the old name
			name = "max_completion_tokens"
		}
		b[name] = p.MaxOutput
	}
	if level := p.Thinking; level != "" && level != "off" {
		b["reasoning_effort"] = level
	}
	if p.Temperature != nil {
		b["temperature"] = *p.Temperature
	}
	return b
}

// conversation encodes a conversation, which begins with the system prompt.
func (p chat) conversation(req agent.Request) payload {
	text, _ := p.sent.list(req.Messages, func(m agent.Message) ([]byte, int) { return joined(p.message(m)), -1 })
	if req.System == "" {
		return payload{text}
	}
	system := encode(object{"role": "system", "content": req.System})
	if len(text) > 0 {
		system = append(system, ',')
	}
	return payload{system, text}
}

// message converts a message. Results come first in a message of the user, so they
// follow their calls at once, as the API requires. It takes images from the user only, so those of
// results follow in the user's message.
func (p chat) message(m agent.Message) []object {
	var list []object
	var texts []string
	var images []any
	var calls []object
	var thinking object
	for _, b := range m.Content {
		switch b.Type {
		case agent.TextBlock:
			texts = append(texts, b.Text)
		case agent.ToolUseBlock:
			calls = append(calls, object{"id": b.ID, "type": "function", "function": object{
				"name": b.Name, "arguments": string(agent.ValidInput(b.Input)),
			}})
		case agent.ToolResultBlock:
			list = append(list, object{"role": "tool", "tool_call_id": b.ToolUseID, "content": resultText(b)})
			if len(b.Images) > 0 {
				text := object{"type": "text", "text": "The result of call " + b.ToolUseID + " has:"}
				images = append(images, parts(text, b.Images, func(i agent.Image) any {
					return object{"type": "image_url", "image_url": object{"url": dataURL(i)}}
				})...)
			}
		case agent.ThinkingBlock:
			if b.Model == p.Name() && json.Unmarshal(b.Raw, &thinking) != nil {
				thinking = nil
			}
		}
	}
	text := strings.Join(texts, "\n\n")
	switch {
	case m.Role == agent.Assistant && (text != "" || calls != nil):
		said := object{"role": "assistant", "content": text}
		for key, v := range thinking {
			said[key] = v
		}
		if calls != nil {
			said["tool_calls"] = calls
		}
		list = append(list, said)
	case len(images) > 0:
		if text != "" {
			images = append(images, object{"type": "text", "text": text})
		}
		list = append(list, object{"role": "user", "content": images})
	case m.Role == agent.User && text != "":
		list = append(list, object{"role": "user", "content": text})
	}
	return list
}

// chatAnswer is an answer that arrives. It is complete with a finish_reason; what follows
// until [DONE] is the usage, which some hosts do not send.
type chatAnswer struct {
	wire     wire
	draft    agent.Draft // takes the text as it arrives
	text     strings.Builder
	thinking strings.Builder
	thought  string // the field in which the host sends thinking
	refusal  strings.Builder
	calls    []*chatCall
	finish   string
	usage    *chatUsage
}

// chatCall is a tool call that arrives. Its arguments are the text of a JSON object in
// pieces; only the agent checks whether it is complete.
type chatCall struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// chatUsage counts tokens. Cached ones are part of Prompt, as in agent.Usage; hosts without
// a cache leave them out.
type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// tokens returns what was reported; nil: nothing.
func (u *chatUsage) tokens() agent.Usage {
	if u == nil {
		return agent.Usage{}
	}
	return agent.Usage{InputTokens: u.Prompt, OutputTokens: u.Completion, CacheReadTokens: u.Details.Cached}
}

// chatChunk is an event of the stream. Only the first choice exists, because covey asks for
// one; the last chunk may have none and the usage of the whole answer.
type chatChunk struct {
	Error   json.RawMessage `json:"error"`
	Usage   *chatUsage      `json:"usage"`
	Choices []struct {
		Delta struct {
			Content   string      `json:"content"`
			Thinking  string      `json:"reasoning_content"`
			Reasoning string      `json:"reasoning"`
			Refusal   string      `json:"refusal"`
			Calls     []chatDelta `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
}

// chatDelta is a part of a tool call.
type chatDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a text; an object at some hosts
	} `json:"function"`
}

// see processes one event.
func (a *chatAnswer) see(data []byte) (complete bool, err error) {
	if bytes.Equal(bytes.TrimSpace(data), []byte("[DONE]")) {
		return a.finish != "", nil
	}
	var c chatChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, a.wire.malformed(data, err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		a.finish = ""
		return false, a.wire.failed(0, parseError(data))
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for _, choice := range c.Choices {
		d := choice.Delta
		a.text.WriteString(d.Content)
		a.draft.Add(d.Content)
		a.refusal.WriteString(d.Refusal)
		if d.Thinking != "" {
			a.thought = "reasoning_content"
		} else if d.Reasoning != "" {
			a.thought = "reasoning"
		}
		a.thinking.WriteString(cmp.Or(d.Thinking, d.Reasoning))
		for _, part := range d.Calls {
			a.add(part)
		}
		a.finish = cmp.Or(choice.Finish, a.finish)
	}
	return false, nil
}

// unfold implements answering. The messages of choices take the place of what a stream has as deltas.
func (a *chatAnswer) unfold(data []byte) [][]byte {
	var m struct {
		Error   json.RawMessage `json:"error,omitempty"`
		Usage   json.RawMessage `json:"usage,omitempty"`
		Choices []struct {
			Message json.RawMessage `json:"message"`
			Finish  string          `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal(data, &m) != nil || len(m.Choices) == 0 && m.Error == nil {
		return nil
	}
	choices := []object{}
	for _, c := range m.Choices {
		choices = append(choices, object{"delta": c.Message, "finish_reason": c.Finish})
	}
	chunk := object{"choices": choices}
	if m.Usage != nil {
		chunk["usage"] = m.Usage
	}
	if m.Error != nil {
		chunk["error"] = m.Error
	}
	return [][]byte{encode(chunk), []byte("[DONE]")}
}

// add adds a part of a tool call. Some hosts use one index for all calls.
func (a *chatAnswer) add(d chatDelta) {
	var c *chatCall
	for _, known := range a.calls {
		if known.index == d.Index {
			c = known // the last one of that index
		}
	}
	if c == nil || c.endsBefore(d) {
		c = &chatCall{index: d.Index}
		a.calls = append(a.calls, c)
	}
	c.id, c.name = cmp.Or(c.id, d.ID), cmp.Or(c.name, d.Function.Name)
	var text string
	if json.Unmarshal(d.Function.Arguments, &text) == nil { // null is the empty text
		c.arguments.WriteString(text)
	} else {
		c.arguments.Write(d.Function.Arguments)
	}
}

// endsBefore reports whether a part with the same index begins another call: it has another
// id, or an id or a name although the arguments are complete.
func (c *chatCall) endsBefore(d chatDelta) bool {
	switch {
	case d.ID != "" && d.ID == c.id, d.ID == "" && d.Function.Name == "":
		return false
	case d.ID != "" && c.id != "":
		return true
	}
	return json.Valid([]byte(c.arguments.String()))
}

// response returns the complete answer. Thinking keeps the name of its field, because the
// host wants it back under the same one.
func (a *chatAnswer) response(req agent.Request) (agent.Response, error) {
	r := agent.Response{Usage: a.usage.tokens()}
	if a.refusal.Len() > 0 || a.finish == "content_filter" {
		return r, refusal(cmp.Or(a.refusal.String(), a.text.String()))
	}
	if a.thinking.Len() > 0 {
		text := a.thinking.String()
		r.Content = append(r.Content, agent.Block{
			Type: agent.ThinkingBlock, Thinking: text, Raw: encode(object{a.thought: text}), Model: a.wire.Name(),
		})
	}
	if a.text.Len() > 0 {
		r.Content = append(r.Content, agent.Block{Type: agent.TextBlock, Text: a.text.String()})
	}
	slices.SortStableFunc(a.calls, func(c, d *chatCall) int { return cmp.Compare(c.index, d.index) })
	for _, c := range a.calls {
		r.Content = append(r.Content, agent.Block{
			Type: agent.ToolUseBlock, ID: c.id, Name: c.name, Input: json.RawMessage(c.arguments.String()),
		})
	}
	r.CutOff = a.finish == "length"
	if r.Usage.InputTokens == 0 {
		r.Usage = estimate(req, r.Content)
	}
	return r, nil
}
