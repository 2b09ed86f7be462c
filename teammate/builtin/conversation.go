package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
)

// conversation is all that an agent's model has said and been told. It keeps
// the messages as they were recorded; request brings them into the form that
// model APIs want.
type conversation struct {
	messages []agent.Message
	// seen is how many messages some request has held, from the first on.
	seen int
	// ids are the tool call ids in use. Results, hooks and the store tell calls
	// apart by nothing else.
	ids map[string]bool
}

// newConversation takes over a recorded history. Messages behind the last
// answer count as new: nothing shows that a model has seen them. Results that
// answer no call, or one that has its result, are left out; calls in the
// middle that have none get one.
func newConversation(history []agent.Message) conversation {
	c := conversation{ids: map[string]bool{}}
	open := map[string]bool{}
	for _, m := range history {
		if m.Role == agent.Assistant {
			c.close(open)
		}
		c.add(mend(m, open))
		if m.Role != agent.Assistant {
			continue
		}
		c.seen = len(c.messages)
		for _, b := range m.Content {
			if b.Type == agent.ToolUseBlock {
				c.ids[b.ID] = true
				open[b.ID] = true
			}
		}
	}
	return c
}

// mend returns m with only those results that answer an open call, and closes those.
func mend(m agent.Message, open map[string]bool) agent.Message {
	kept := agent.Message{Role: m.Role, Content: make([]agent.Block, 0, len(m.Content))}
	for _, b := range m.Content {
		if b.Type == agent.ToolResultBlock {
			if !open[b.ToolUseID] {
				continue
			}
			delete(open, b.ToolUseID)
		}
		kept.Content = append(kept.Content, b)
	}
	return kept
}

// close gives the calls of the last answer that are still open a result.
func (c *conversation) close(open map[string]bool) {
	clear(open)
	for _, call := range c.open() {
		c.add(agent.Message{Role: agent.User, Content: []agent.Block{{
			Type: agent.ToolResultBlock, ToolUseID: call.ID, Content: lostText, IsError: true,
		}}})
	}
}

// add puts m at the end.
func (c *conversation) add(m agent.Message) { c.messages = append(c.messages, m) }

// lastAnswer is the index of the last assistant message, or -1.
func (c *conversation) lastAnswer() int {
	for i := len(c.messages) - 1; i >= 0; i-- {
		if c.messages[i].Role == agent.Assistant {
			return i
		}
	}
	return -1
}

// lastText is the text of the last assistant message, trimmed.
func (c *conversation) lastText() string {
	if i := c.lastAnswer(); i >= 0 {
		return textOf(c.messages[i])
	}
	return ""
}

// silent reports whether nobody has said anything since the last answer.
func (c *conversation) silent() bool { return c.lastAnswer() == len(c.messages)-1 }

// open are the calls of the last answer that have no result, in order.
func (c *conversation) open() []agent.ToolCall {
	last := c.lastAnswer()
	if last < 0 {
		return nil
	}
	closed := map[string]bool{}
	for _, m := range c.messages[last+1:] {
		for _, b := range m.Content {
			if b.Type == agent.ToolResultBlock {
				closed[b.ToolUseID] = true
			}
		}
	}
	var calls []agent.ToolCall
	for _, b := range c.messages[last].Content {
		if b.Type == agent.ToolUseBlock && !closed[b.ID] {
			calls = append(calls, agent.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input})
		}
	}
	return calls
}

// request is the next model request. Model APIs want user and assistant to
// take turns, no empty message, and tool results in the first place of the
// message after their calls; so neighbours of one role are put together, but
// never what is new with what is not.
func (c *conversation) request(system string, tools []agent.Spec) agent.Request {
	r := agent.Request{System: system, Tools: tools}
	for i, m := range c.messages {
		if i == c.seen {
			r.New = len(r.Messages)
		}
		if len(m.Content) == 0 {
			continue
		}
		// A message of its own begins with another role, and where the new part
		// begins: New must be able to point between two messages.
		last := len(r.Messages) - 1
		if last < 0 || r.Messages[last].Role != m.Role || i >= c.seen && last < r.New {
			r.Messages = append(r.Messages, agent.Message{Role: m.Role})
			last++
		}
		r.Messages[last].Content = merge(r.Messages[last].Content, m.Content)
	}
	if c.seen == len(c.messages) {
		r.New = len(r.Messages)
	}
	c.seen = len(c.messages)
	return r
}

// merge appends more to blocks, tool results before everything else.
func merge(blocks, more []agent.Block) []agent.Block {
	results := 0
	for results < len(blocks) && blocks[results].Type == agent.ToolResultBlock {
		results++
	}
	merged := make([]agent.Block, 0, len(blocks)+len(more))
	merged = append(merged, blocks[:results]...)
	var rest []agent.Block
	for _, b := range more {
		if b.Type == agent.ToolResultBlock {
			merged = append(merged, b)
		} else {
			rest = append(rest, b)
		}
	}
	return append(append(merged, blocks[results:]...), rest...)
}

// tidy makes an assistant message and its calls of what a model answered, so
// that the conversation stays sound whatever that was: ids are present and
// unique, inputs are JSON objects, and there are no other blocks than text and
// tool calls. A call whose input was no object has a nil Input.
func (c *conversation) tidy(blocks []agent.Block) (agent.Message, []agent.ToolCall) {
	m := agent.Message{Role: agent.Assistant}
	var calls []agent.ToolCall
	for _, b := range blocks {
		switch b.Type {
		case agent.TextBlock:
			if b.Text == "" {
				continue
			}
			m.Content = append(m.Content, agent.Block{Type: b.Type, Text: b.Text})
		// A name that no tool has goes to the host, which answers that there is no
		// such tool: the model learns from that.
		case agent.ToolUseBlock:
			call := agent.ToolCall{ID: c.freshID(b.ID), Name: b.Name, Input: object(b.Input)}
			calls = append(calls, call)
			// The transcript must be JSON, whatever the model wrote.
			input := call.Input
			if input == nil {
				input = json.RawMessage("{}")
			}
			m.Content = append(m.Content,
				agent.Block{Type: b.Type, ID: call.ID, Name: b.Name, Input: input})
		}
	}
	return m, calls
}

// freshID is id if no call has it yet, and otherwise one made from it.
func (c *conversation) freshID(id string) string {
	if id == "" {
		id = "toolu_none"
	}
	fresh := id
	for n := 2; c.ids[fresh]; n++ {
		fresh = fmt.Sprintf("%s_%d", id, n)
	}
	c.ids[fresh] = true
	return fresh
}

// object is input as a compact JSON object, an absent input as an empty one,
// and nil when input is anything else.
func object(input json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(input)) == 0 {
		return json.RawMessage("{}")
	}
	var out bytes.Buffer
	if json.Compact(&out, input) != nil || out.Bytes()[0] != '{' {
		return nil
	}
	return out.Bytes()
}
