package builtin

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestRequestsGoOn: whatever is added, collapsed or asked again, a request is the one that a
// conversation makes that has made none before, and messages that it has as the last one had them
// are the same in memory.
func TestRequestsGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newConversation(nil)
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"answer", "results", "text", "empty", "ask", "ask", "again", "collapse"}).Draw(t, "step") {
			case "answer":
				c.add(agent.TextMessage(agent.Assistant, "I say"))
			case "results":
				c.add(agent.Message{Role: agent.User, Content: []agent.Block{
					{Type: agent.TextBlock, Text: "and"}, {Type: agent.ToolResultBlock, ToolUseID: "c", Content: string(make([]byte, 500))},
				}})
			case "text":
				c.add(agent.TextMessage(agent.User, "you say", "twice"))
			case "empty":
				c.add(agent.Message{Role: agent.Assistant})
			case "collapse":
				c.collapse(rapid.IntRange(c.collapsed, len(c.messages)).Draw(t, "up to"))
			case "ask", "again":
				fresh := conversation{messages: c.messages, seen: c.seen, collapsed: c.collapsed}
				seen, sent := c.seen, c.sent
				if c.taken != seen { // it is asked again
					sent = nil
				}
				want, got := fresh.request("", nil), c.request("", nil)
				w, _ := json.Marshal(want.Messages)
				g, _ := json.Marshal(got.Messages)
				if string(w) != string(g) || want.New != got.New {
					t.Fatalf("step %d: %s, new %d\nwant %s, new %d", n, g, got.New, w, want.New)
				}
				for i, m := range sent {
					if &m.Content[0] != &got.Messages[i].Content[0] {
						t.Fatalf("step %d: message %d is made again", n, i)
					}
				}
				if rapid.Bool().Draw(t, "failed") {
					c.seen = seen
				}
			}
		}
	})
}
