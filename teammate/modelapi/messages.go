package modelapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// defaultOutput is the limit of output tokens at APIs that want one.
const defaultOutput = 16_000

// messages speaks Anthropic's Messages API.
type messages struct{ wire }

// object is a JSON object. Its keys are encoded in sorted order, so that equal requests
// have equal bytes, which caches need.
type object = map[string]any

// answer makes one request.
func (p messages) answer(ctx context.Context, req agent.Request) (agent.Response, error) {
	a := messagesAnswer{wire: p.wire, draft: req.Draft, blocks: map[int]*openBlock{}}
	if err := p.stream(ctx, "/v1/messages", p.body(req), p.conversation(req.Messages), &a, req.Say); err != nil {
		return agent.Response{Usage: a.usage.tokens()}, err
	}
	return a.response(req)
}

// body returns the body of a request. The parts that stay the same come first and are marked
// for the cache: the tools, then the system prompt, then the conversation. A change of a
// part makes the marks after it worthless. The conversation is missing: see fill.
func (p messages) body(req agent.Request) object {
	limit := cmp.Or(p.MaxOutput, defaultOutput)
	b := object{"model": p.Model, "stream": true, "messages": hole}
	if req.System != "" {
		b["system"] = []object{{"type": "text", "text": req.System, "cache_control": ephemeral()}}
	}
	if len(req.Tools) > 0 {
		tools := make([]object, len(req.Tools))
		for i, t := range req.Tools {
			tools[i] = object{"name": t.Name, "description": t.Description, "input_schema": t.Schema}
		}
		tools[len(tools)-1]["cache_control"] = ephemeral()
		b["tools"] = tools
	}
	switch level := p.Thinking; {
	case level == "" || level == "off":
	case fixedThinking().MatchString(p.Model):
		budget := map[string]int{"low": 2_000, "medium": 8_000, "high": 24_000}[level]
		limit += budget // the budget is part of the limit
		b["thinking"] = object{"type": "enabled", "budget_tokens": budget}
	default:
		b["thinking"], b["output_config"] = object{"type": "adaptive"}, object{"effort": level}
	}
	if p.Temperature != nil {
		b["temperature"] = *p.Temperature
	}
	b["max_tokens"] = limit
	return b
}

// fixedThinking matches the models that want a budget of thinking tokens; later ones
// decide by themselves.
var fixedThinking = texts.Pattern(`^claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[015])?(?:-20\d{6})?$)`)

// ephemeral marks the end of a part of a request that the provider keeps for the next one.
func ephemeral() object { return object{"type": "ephemeral"} }

// conversation encodes messages. The last blocks of the last two messages of the user are
// marked for the cache: the mark before the last one is where the previous request ended,
// and a cache is only looked for 20 blocks back.
func (p messages) conversation(list []agent.Message) payload {
	text, marks := p.sent.list(list, p.message)
	var at []int // of the marks, the last one first
	for i := len(marks) - 1; i >= 0 && len(at) < 2; i-- {
		if marks[i] >= 0 {
			at = append(at, marks[i])
		}
	}
	var parts payload
	from := 0
	for _, mark := range slices.Backward(at) {
		parts = append(parts, text[from:mark], []byte(`"cache_control":`), encode(ephemeral()), []byte{','})
		from = mark
	}
	return append(parts, text[from:])
}

// message encodes a message; nothing, if it has no content for the API.
func (p messages) message(m agent.Message) (text []byte, mark int) {
	content := p.content(m.Content)
	if len(content) == 0 {
		return nil, -1
	}
	last := len(content) - 1
	text = append([]byte(`{"content":[`), joined(content[:last])...)
	if last > 0 {
		text = append(text, ',')
	}
	if mark = -1; m.Role == agent.User {
		mark = len(text) + 1
	}
	text = append(append(text, encode(content[last])...), `],"role":`...)
	return append(append(text, encode(m.Role)...), '}'), mark
}

// content converts the blocks of a message, and leaves out what the API would refuse, such
// as blank texts. Thinking goes only to the model that it is of,
// because it is signed.
func (p messages) content(blocks []agent.Block) []object {
	var list []object
	for _, b := range blocks {
		switch b.Type {
		case agent.TextBlock:
			if strings.TrimSpace(b.Text) != "" { // the API refuses blank texts
				list = append(list, object{"type": "text", "text": b.Text})
			}
		case agent.ToolUseBlock:
			list = append(list, object{"type": "tool_use", "id": callID(b.ID), "name": b.Name, "input": agent.ValidInput(b.Input)})
		case agent.ToolResultBlock:
			result := object{"type": "tool_result", "tool_use_id": callID(b.ToolUseID), "is_error": b.IsError}
			switch {
			case len(b.Images) > 0:
				result["content"] = parts(object{"type": "text", "text": b.Content}, b.Images,
					func(i agent.Image) any { return i })
			case strings.TrimSpace(b.Content) != "":
				result["content"] = b.Content
			}
			list = append(list, result)
		case agent.ThinkingBlock:
			var raw object
			if b.Model == p.Name() && json.Unmarshal(b.Raw, &raw) == nil {
				list = append(list, raw)
			}
		}
	}
	return list
}

// parts returns a text and images, as image converts them, for the APIs that take a list of both.
func parts(text object, images []agent.Image, image func(agent.Image) any) []any {
	list := []any{text}
	for _, i := range images {
		list = append(list, image(i))
	}
	return list
}

// dataURL returns the URL that holds an image itself.
func dataURL(i agent.Image) string {
	return "data:" + i.Source.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Source.Data)
}

// callID returns an id that the API accepts, for ids that another model has made. A call and
// its result get the same one.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
}

// messagesAnswer is an answer that arrives. Blocks are kept by their index, because some
// hosts send them interleaved or out of order; a delta without a start begins a text.
type messagesAnswer struct {
	wire   wire
	draft  agent.Draft // takes the texts as they arrive
	blocks map[int]*openBlock
	usage  messagesUsage
	stop   string
	detail string // of a refusal
}

// openBlock is a block that arrives. Signatures are appended like text: they may come in
// several deltas. Nothing of a block is used before the whole answer is there.
type openBlock struct {
	start                               json.RawMessage
	kind, id, name                      string
	text, thinking, signature, argument strings.Builder
}

// messagesUsage is cumulative: each report replaces the one before, and adding them up would
// double the bill. A nil field was not reported, which is not the same as 0.
type messagesUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
}

// messagesEvent is an event of the stream, with the fields of all types of events. Unknown
// types are ignored, as Anthropic asks, because new ones may be added at any time.
type messagesEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage messagesUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Argument  string `json:"partial_json"`
		Stop      string `json:"stop_reason"`
		Details   struct {
			Explanation string `json:"explanation"`
		} `json:"stop_details"`
	} `json:"delta"`
	Usage messagesUsage `json:"usage"`
}

// see processes one event.
func (a *messagesAnswer) see(data []byte) (complete bool, err error) {
	var e messagesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, a.wire.malformed(data, err)
	}
	switch e.Type {
	case "message_start":
		a.count(e.Message.Usage)
	case "content_block_start":
		b := &openBlock{start: e.Block}
		var start struct{ Type, ID, Name, Text, Thinking, Signature string }
		if err := json.Unmarshal(e.Block, &start); err != nil {
			return false, a.wire.malformed(data, err)
		}
		b.kind, b.id, b.name = start.Type, start.ID, start.Name
		b.text.WriteString(start.Text)
		if b.kind == "text" && len(a.blocks) > 0 {
			a.draft.Add("\n") // each block is a text of its own
		}
		a.draft.Add(start.Text)
		b.thinking.WriteString(start.Thinking)
		b.signature.WriteString(start.Signature)
		a.blocks[e.Index] = b
	case "content_block_delta":
		b := a.blocks[e.Index]
		if b == nil { // the start is missing
			b = &openBlock{kind: "text"}
			a.blocks[e.Index] = b
		}
		b.text.WriteString(e.Delta.Text)
		a.draft.Add(e.Delta.Text)
		b.thinking.WriteString(e.Delta.Thinking)
		b.signature.WriteString(e.Delta.Signature)
		b.argument.WriteString(e.Delta.Argument)
	case "message_delta":
		a.stop, a.detail = cmp.Or(e.Delta.Stop, a.stop), cmp.Or(e.Delta.Details.Explanation, a.detail)
		a.count(e.Usage)
	case "message_stop":
		return true, nil
	case "error":
		return false, a.wire.failed(0, parseError(data))
	}
	return false, nil
}

// unfold implements answering.
func (a *messagesAnswer) unfold(data []byte) [][]byte {
	var m struct {
		Content []json.RawMessage `json:"content"`
		Stop    json.RawMessage   `json:"stop_reason"`
		Details json.RawMessage   `json:"stop_details"`
		Usage   json.RawMessage   `json:"usage"`
	}
	if json.Unmarshal(data, &m) != nil || m.Content == nil {
		return nil
	}
	var events [][]byte
	for i, b := range m.Content {
		events = append(events, encode(object{"type": "content_block_start", "index": i, "content_block": b}))
	}
	return append(events, encode(object{
		"type": "message_delta", "delta": object{"stop_reason": m.Stop, "stop_details": m.Details}, "usage": m.Usage,
	}), encode(object{"type": "message_stop"}))
}

// count takes a report of usage.
func (a *messagesAnswer) count(u messagesUsage) {
	a.usage = messagesUsage{
		Input: cmp.Or(u.Input, a.usage.Input), Output: cmp.Or(u.Output, a.usage.Output),
		CacheWrite: cmp.Or(u.CacheWrite, a.usage.CacheWrite), CacheRead: cmp.Or(u.CacheRead, a.usage.CacheRead),
	}
}

// response returns the complete answer. An answer that ends at the model's context is cut
// off like one that ends at max_tokens: the next request then says that it is too long.
func (a *messagesAnswer) response(req agent.Request) (agent.Response, error) {
	var r agent.Response
	for _, i := range slices.Sorted(maps.Keys(a.blocks)) {
		r.Content = append(r.Content, a.blocks[i].block(a.wire.Name())...)
	}
	switch a.stop {
	case "refusal":
		return agent.Response{Usage: a.usage.tokens()}, refusal(cmp.Or(a.detail, agent.Message{Content: r.Content}.Text()))
	case "model_context_window_exceeded", "max_tokens":
		r.CutOff = true
	}
	r.Usage = a.usage.tokens()
	if a.usage.Input == nil || a.usage.Output == nil {
		r.Usage = estimate(req, r.Content)
	}
	return r, nil
}

// tokens returns what was reported. In covey's counts, what the cache had is part of the input.
func (u messagesUsage) tokens() agent.Usage {
	read, write := value(u.CacheRead), value(u.CacheWrite)
	return agent.Usage{
		InputTokens: value(u.Input) + read + write, OutputTokens: value(u.Output),
		CacheReadTokens: read, CacheWriteTokens: write,
	}
}

// value returns what a pointer points to, or 0.
func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// block returns the complete block; none if its type is unknown.
func (b *openBlock) block(model string) []agent.Block {
	switch b.kind {
	case "text":
		return []agent.Block{{Type: agent.TextBlock, Text: b.text.String()}}
	case "tool_use":
		input := json.RawMessage(b.argument.String())
		if len(input) == 0 { // some hosts send it whole
			var start struct {
				Input json.RawMessage `json:"input"`
			}
			if json.Unmarshal(b.start, &start) == nil {
				input = start.Input
			}
		}
		return []agent.Block{{Type: agent.ToolUseBlock, ID: b.id, Name: b.name, Input: input}}
	case "thinking":
		raw := object{"type": "thinking", "thinking": b.thinking.String()}
		if b.signature.Len() > 0 { // hosts that copy the API may not sign
			raw["signature"] = b.signature.String()
		}
		return []agent.Block{{Type: agent.ThinkingBlock, Thinking: b.thinking.String(), Raw: encode(raw), Model: model}}
	case "redacted_thinking":
		return []agent.Block{{Type: agent.ThinkingBlock, Raw: b.start, Model: model}}
	}
	return nil
}
