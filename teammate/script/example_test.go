package script_test

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// A script answers requests in order; a step with `when` waits for a match.
func Example() {
	s, err := script.Parse("backend.yaml", []byte(`
steps:
  - say: I look around.
    call: [{tool: Bash, input: {command: ls}}]
  - when: go.mod
    say: It is a Go module.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	model := s.Model(nil)
	messages := []agent.Message{
		{Role: agent.User, Content: []agent.Block{{Type: agent.TextBlock, Text: "What is this?"}}},
	}
	first, _ := model.Generate(context.Background(), agent.Request{Messages: messages})
	fmt.Println(first.Content[0].Text, first.Content[1].Name, string(first.Content[1].Input))

	messages = append(messages, agent.Message{Role: agent.Assistant, Content: first.Content},
		agent.Message{Role: agent.User, Content: []agent.Block{
			{Type: agent.ToolResultBlock, ToolUseID: first.Content[1].ID, Content: "go.mod\nmain.go"},
		}})
	second, _ := model.Generate(context.Background(), agent.Request{Messages: messages, New: 2})
	fmt.Println(second.Content[0].Text)
	// Output:
	// I look around. Bash {"command":"ls"}
	// It is a Go module.
}

// All mistakes are reported at once, each with its position and a fix.
func ExampleParse() {
	_, err := script.Parse("backend.yaml", []byte("steps:\n  - sya: hello\nexhausted: never\n"))
	fmt.Println(err)
	// Output:
	// backend.yaml:2:5: unknown key "sya" in a step; did you mean say?
	//       - sya: hello
	//         ^
	// backend.yaml:3:12: exhausted is "never"; write one of stop, error
	//     exhausted: never
	//                ^
}
