package modelapi

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// TestLive asks real providers, with the cheapest model of each, for a call of a tool and an
// answer that needs its result, with thinking in between: a few hundred tokens. It runs only
// by name, with the key of a provider in the environment, so that a whole test run costs
// nothing.
func TestLive(t *testing.T) {
	for name, tc := range map[string]struct {
		variable string
		config   Config
	}{
		"Messages": {"ANTHROPIC_API_KEY", Config{Provider: "anthropic", Model: "claude-haiku-4-5", API: Messages,
			BaseURL: "https://api.anthropic.com", Thinking: "low", MaxOutput: 300}},
		"Responses": {"OPENAI_API_KEY", Config{Provider: "openai", Model: "gpt-5-nano", API: Responses,
			BaseURL: "https://api.openai.com/v1", Thinking: "low", MaxOutput: 2000}},
		"Chat": {"OPENAI_API_KEY", Config{Provider: "openai", Model: "gpt-4.1-nano", API: Chat,
			BaseURL: "https://api.openai.com/v1", MaxOutput: 300}},
	} {
		t.Run(name, func(t *testing.T) {
			key := os.Getenv(tc.variable)
			switch {
			case !strings.Contains(flag.Lookup("test.run").Value.String(), "Live"):
				t.Skip("go test -run Live ./teammate/modelapi asks the real API, with the key in " + tc.variable)
			case key == "":
				t.Skip("there is no key in " + tc.variable)
			}
			tc.config.Key = keyOf(key)
			live(t, tc.config)
		})
	}
}

// live has a model add two numbers with a tool.
func live(t *testing.T, c Config) {
	req := agent.Request{
		System: "You add numbers with the tool add, and never by yourself. Answer with the number alone.",
		Tools: []agent.Spec{{Name: "add", Description: "Adds two whole numbers.", Schema: json.RawMessage(
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`)}},
		Messages: []agent.Message{agent.TextMessage(agent.User, "How much are 1234 and 4321?")},
	}
	first, err := generate(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	message := agent.Message{Role: agent.Assistant, Content: first.Content}
	var call agent.Block
	for _, b := range first.Content {
		if b.Type == agent.ToolUseBlock {
			call = b
		}
	}
	var in struct{ A, B int }
	if call.Name != "add" || json.Unmarshal(call.Input, &in) != nil || in.A+in.B != 5555 {
		t.Fatalf("the model called no tool: %s", encode(first))
	}
	result := agent.Block{Type: agent.ToolResultBlock, ToolUseID: call.ID, Content: "5555"}
	req.Messages = append(req.Messages, message, agent.Message{Role: agent.User, Content: []agent.Block{result}})
	second, err := generate(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	text := agent.Message{Content: second.Content}.Text()
	if !strings.Contains(strings.ReplaceAll(text, ",", ""), "5555") || second.Usage.Estimated || second.Usage.InputTokens == 0 {
		t.Errorf("the model answered %s", encode(second))
	}
}
