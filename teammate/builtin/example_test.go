package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
)

// stubborn is a model that reads a file before it answers.
type stubborn struct{}

func (stubborn) Generate(_ context.Context, r agent.Request) (agent.Response, error) {
	last := r.Messages[len(r.Messages)-1].Content[0]
	if last.Type == agent.ToolResultBlock {
		text := agent.Block{Type: agent.TextBlock, Text: "It says: " + last.Content}
		return agent.Response{Content: []agent.Block{text}}, nil
	}
	return agent.Response{Content: []agent.Block{{
		Type: agent.ToolUseBlock, ID: "toolu_1", Name: "Read", Input: json.RawMessage(`{"file_path":"notes"}`),
	}}}, nil
}

// host is a minimal agent.Host.
type host struct{}

func (host) Pass(ctx context.Context) ([]agent.Input, error) { return nil, ctx.Err() }

func (host) Call(_ context.Context, c agent.ToolCall) agent.ToolResult {
	fmt.Println("calls", c.Name, string(c.Input))
	return agent.ToolResult{Content: "buy milk"}
}

func (host) Record(r agent.Record) error {
	fmt.Println("records", r.Message.Role, r.Message.Content[0].Type)
	return nil
}

// An agent asks its model, runs the calls of the answer, and returns after an answer
// without calls.
func ExampleAgent_Run() {
	a, err := builtin.New(builtin.Options{Model: stubborn{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt := []agent.Input{{Kind: agent.FromPerson, Text: "What is in the notes?"}}
	reply, err := a.Run(context.Background(), prompt, host{})
	fmt.Println(reply.Text, reply.ToolCalls, err)
	// Output:
	// records user text
	// records assistant tool_use
	// calls Read {"file_path":"notes"}
	// records user tool_result
	// records assistant text
	// It says: buy milk 1 <nil>
}

// An interrupted member continues from its transcript: the call without a result runs
// again, because its tool is read-only.
func ExampleAgent_Resume() {
	history := []agent.Message{
		{Role: agent.User, Content: []agent.Block{{Type: agent.TextBlock, Text: "What is in the notes?"}}},
		{Role: agent.Assistant, Content: []agent.Block{
			{Type: agent.ToolUseBlock, ID: "toolu_1", Name: "Read", Input: json.RawMessage(`{"file_path":"notes"}`)},
		}},
	}
	a, err := builtin.New(builtin.Options{
		Model: stubborn{}, History: history, Tools: []agent.Spec{{Name: "Read", ReadOnly: true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := a.Resume(context.Background(), host{})
	fmt.Println(reply.Text, err)
	// Output:
	// calls Read {"file_path":"notes"}
	// records user tool_result
	// records assistant text
	// It says: buy milk <nil>
}
