package transcript

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/teammate/agent"
)

// OpenCalls are the tool calls of the conversation that have no result yet.
type OpenCalls struct{ List []agent.ToolCall }

// Tool returns the tool of an open call.
func (o *OpenCalls) Tool(id string) (string, bool) {
	i := slices.IndexFunc(o.List, func(c agent.ToolCall) bool { return c.ID == id })
	if i < 0 {
		return "", false
	}
	return o.List[i].Name, true
}

// Check returns an error if m would violate the order of a conversation: each call has
// exactly one result, and no other message comes before it.
func (o *OpenCalls) Check(m agent.Message) error {
	if m.Role == agent.Assistant {
		return o.checkCalls(m)
	}
	answered := map[string]bool{}
	for _, b := range m.Content {
		if b.Type != agent.ToolResultBlock {
			continue
		}
		if _, open := o.Tool(b.ToolUseID); !open || answered[b.ToolUseID] {
			return fmt.Errorf("result for tool call %q, which waits for none", b.ToolUseID)
		}
		answered[b.ToolUseID] = true
	}
	if len(o.List) > 0 && len(answered) == 0 {
		return fmt.Errorf("user message while tool call %q waits for its result", o.List[0].ID)
	}
	return nil
}

func (o *OpenCalls) checkCalls(m agent.Message) error {
	if len(o.List) > 0 {
		return fmt.Errorf("assistant message while tool call %q waits for its result", o.List[0].ID)
	}
	ids := map[string]bool{}
	for _, c := range m.ToolCalls() {
		if c.ID == "" || ids[c.ID] {
			return fmt.Errorf("tool call id %q is empty or there twice", c.ID)
		}
		ids[c.ID] = true
	}
	return nil
}

// Add updates the open calls with the calls and results of m.
func (o *OpenCalls) Add(m agent.Message) {
	o.List = append(o.List, m.ToolCalls()...)
	for _, b := range m.Content {
		if b.Type == agent.ToolResultBlock {
			o.List = slices.DeleteFunc(o.List, func(c agent.ToolCall) bool { return c.ID == b.ToolUseID })
		}
	}
}

// InterruptedResult is the result of an interrupted tool call.
const InterruptedResult = "interrupted"

// Interrupted returns the message that gives each of calls an InterruptedResult. It is
// empty if there are none.
func Interrupted(calls []agent.ToolCall) agent.Message {
	m := agent.Message{Role: agent.User}
	for _, c := range calls {
		m.Content = append(m.Content, agent.Block{
			Type: agent.ToolResultBlock, ToolUseID: c.ID, Content: InterruptedResult, IsError: true,
		})
	}
	return m
}
