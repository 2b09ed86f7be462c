package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
)

// stubborn is a model that looks before it answers.
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

// host is the least that a member owes its agent.
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

// An agent asks its model, makes the calls that the model wants, and returns
// once an answer calls nothing.
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

// A member that was cut off goes on from its transcript: the call that had no
// result yet is made again, because its tool only reads.
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

// What runs in the background has an id, by which it is looked at and ended.
func ExampleTools_Background() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	tools := builtin.NewTools(builtin.Env{
		Workdir:   teammate.NewWorkdir(root),
		Environ:   []string{"PATH=" + os.Getenv("PATH")},
		OutputDir: filepath.Join(root, ".out"),
	})
	bash := tools.List()[0]
	bash.Run(context.Background(), agent.ToolCall{
		Name: "Bash", Input: json.RawMessage(`{"command":"sleep 600","run_in_background":true}`),
	})
	for _, run := range tools.Background() {
		fmt.Println(run.ID, run.Command)
	}
	fmt.Println(tools.Close(), len(tools.Background()))
	// Output:
	// bash_1 sleep 600
	// <nil> 0
}

// The tools work in a workspace; a `cd` in one command holds for the next.
func ExampleTools() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	tools := builtin.NewTools(builtin.Env{
		Workdir:   teammate.NewWorkdir(root),
		Environ:   []string{"PATH=" + os.Getenv("PATH")},
		OutputDir: filepath.Join(root, ".out"),
	})
	defer tools.Close()
	run := func(name, input string) {
		for _, tool := range tools.List() {
			if tool.Spec().Name == name {
				r := tool.Run(context.Background(),
					agent.ToolCall{Name: name, Input: json.RawMessage(input)})
				fmt.Println(r.Content)
			}
		}
	}
	run("Bash", `{"command": "mkdir src && cd src && printf hello > greeting"}`)
	run("Read", `{"file_path": "greeting"}`)
	run("Bash", `{"command": "cat nothing || exit 3"}`)
	// Output:
	// (Bash completed with no output)
	// 1	hello
	// Exit code 3
	// cat: nothing: No such file or directory
}
