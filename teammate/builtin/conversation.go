package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coveyteam/covey/teammate/agent"
)

// conversation holds all messages between an agent and its model, as they were
// recorded. request converts them to the form that model APIs require.
type conversation struct {
	messages []agent.Message
	// seen is the number of messages, from the first, that were part of a request.
	seen int
	// ids holds the tool call ids in use. Results, hooks and the store distinguish
	// calls only by their ids.
	ids map[string]bool
	// collapsed is the number of messages, from the first, whose results of tools the model
	// does not see any more, and saved how many bytes that leaves out.
	collapsed int
	saved     int64
	// sent are the messages of the last request, with which the next one begins: those of the first
	// taken messages. What changes one of these calls resend.
	sent  []agent.Message
	taken int
}

// newConversation returns a conversation that continues history. Messages after the
// last answer count as new, because no request may have held them. It drops results
// without a call and second results of a call, and adds results for earlier calls
// without one.
func newConversation(history []agent.Message) conversation {
	c := conversation{ids: map[string]bool{}}
	pending := map[string]bool{}
	for _, m := range history {
		if m.Role == agent.Assistant {
			c.closeCalls(pending)
		}
		c.add(keepResults(m, pending))
		if m.Role != agent.Assistant {
			continue
		}
		c.seen = len(c.messages)
		for _, b := range m.Content {
			if b.Type == agent.ToolUseBlock {
				c.ids[b.ID] = true
				pending[b.ID] = true
			}
		}
	}
	return c
}

// keepResults returns m with only those results that answer a pending call, and
// removes these calls from pending.
func keepResults(m agent.Message, pending map[string]bool) agent.Message {
	kept := agent.Message{Role: m.Role, Content: make([]agent.Block, 0, len(m.Content))}
	for _, b := range m.Content {
		if b.Type == agent.ToolResultBlock {
			if !pending[b.ToolUseID] {
				continue
			}
			delete(pending, b.ToolUseID)
		}
		kept.Content = append(kept.Content, b)
	}
	return kept
}

// closeCalls clears pending, and adds a result for each unanswered call of the last
// answer.
func (c *conversation) closeCalls(pending map[string]bool) {
	clear(pending)
	for _, call := range c.unanswered() {
		c.add(agent.Message{Role: agent.User, Content: []agent.Block{{
			Type: agent.ToolResultBlock, ToolUseID: call.ID, Content: lostText, IsError: true,
		}}})
	}
}

// add appends m.
func (c *conversation) add(m agent.Message) { c.messages = append(c.messages, m) }

// lastAnswer returns the index of the last assistant message, or -1.
func (c *conversation) lastAnswer() int {
	for i := len(c.messages) - 1; i >= 0; i-- {
		if c.messages[i].Role == agent.Assistant {
			return i
		}
	}
	return -1
}

// lastText returns the trimmed text of the last assistant message, or "".
func (c *conversation) lastText() string {
	if i := c.lastAnswer(); i >= 0 {
		return textOf(c.messages[i])
	}
	return ""
}

// endsWithAnswer reports whether the last message is an answer, or there are no
// messages.
func (c *conversation) endsWithAnswer() bool { return c.lastAnswer() == len(c.messages)-1 }

// unanswered returns the calls of the last answer that have no result, in order.
func (c *conversation) unanswered() []agent.ToolCall {
	last := c.lastAnswer()
	if last < 0 {
		return nil
	}
	answered := map[string]bool{}
	for _, m := range c.messages[last+1:] {
		for _, b := range m.Content {
			if b.Type == agent.ToolResultBlock {
				answered[b.ToolUseID] = true
			}
		}
	}
	var calls []agent.ToolCall
	for _, b := range c.messages[last].Content {
		if b.Type == agent.ToolUseBlock && !answered[b.ID] {
			calls = append(calls, agent.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input})
		}
	}
	return calls
}

// request returns the next model request. Model APIs require alternating user and
// assistant messages, no empty messages, and tool results at the beginning of the
// message after their calls. So request joins consecutive messages of one role, but
// never a new message with an old one.
//
// What the last request had is not made again: models know it by its memory.
func (c *conversation) request(system string, tools []agent.Spec) agent.Request {
	if c.taken != c.seen { // the last request is to be made again
		c.resend()
	}
	r := agent.Request{System: system, Tools: tools, Messages: c.sent}
	for i := c.taken; i < len(c.messages); i++ {
		m := c.messages[i]
		if i == c.seen {
			r.New = len(r.Messages)
		}
		if len(m.Content) == 0 {
			continue
		}
		// Another role begins a new message. So does the first new message, because New
		// is an index of a message.
		last := len(r.Messages) - 1
		if last < 0 || r.Messages[last].Role != m.Role || i >= c.seen && last < r.New {
			r.Messages = append(r.Messages, agent.Message{Role: m.Role})
			last++
		}
		content := m.Content
		if i < c.collapsed {
			content = collapsedBlocks(content)
		}
		r.Messages[last].Content = merge(r.Messages[last].Content, content)
	}
	if c.seen == len(c.messages) {
		r.New = len(r.Messages)
	}
	c.seen = len(c.messages)
	c.sent, c.taken = r.Messages, c.seen
	if n := r.New; n > 0 && n < len(r.Messages) && r.Messages[n-1].Role == r.Messages[n].Role {
		c.resend() // the next request has these two as one
	}
	return r
}

// resend makes the next request begin anew.
func (c *conversation) resend() { c.sent, c.taken = nil, 0 }

// merge appends more to blocks, with tool results before everything else. It changes neither, and
// copies nothing if there is nothing to do, as for most messages: each request has them all.
func merge(blocks, more []agent.Block) []agent.Block {
	if len(blocks) == 0 && slices.IsSortedFunc(more, resultsFirst) {
		return more
	}
	all := slices.Concat(blocks, more)
	slices.SortStableFunc(all, resultsFirst)
	return all
}

// resultsFirst orders tool results before other blocks.
func resultsFirst(a, b agent.Block) int {
	switch ra, rb := a.Type == agent.ToolResultBlock, b.Type == agent.ToolResultBlock; {
	case ra == rb:
		return 0
	case ra:
		return -1
	}
	return 1
}

// sanitize returns the assistant message and the calls of a model's answer. It
// keeps the conversation valid whatever the model returns: every call has a unique
// id, inputs are JSON objects, and there are only text, thinking and tool calls. A call whose
// input is not an object has a nil Input.
func (c *conversation) sanitize(blocks []agent.Block) (agent.Message, []agent.ToolCall) {
	m := agent.Message{Role: agent.Assistant}
	var calls []agent.ToolCall
	for _, b := range blocks {
		switch b.Type {
		case agent.TextBlock:
			if b.Text == "" {
				continue
			}
			m.Content = append(m.Content, agent.Block{Type: b.Type, Text: b.Text})
		case agent.ThinkingBlock:
			m.Content = append(m.Content, b)
		// The host answers a call of an unknown tool, so that the model learns that
		// there is no such tool.
		case agent.ToolUseBlock:
			call := agent.ToolCall{ID: c.freshID(b.ID), Name: b.Name, Input: object(b.Input)}
			calls = append(calls, call)
			// The transcript needs valid JSON, whatever the model wrote.
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

// freshID returns id if no call has it yet, or else an unused id derived from it.
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

// object returns input as a compact JSON object: {} for an empty input, and nil if
// input is not an object.
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
