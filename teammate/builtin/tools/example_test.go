package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/workspace"
)

// A background run has an id for BashOutput and KillShell.
func ExampleSet_Background() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	set := tools.New(tools.Env{
		Workdir:   workspace.NewWorkdir(root),
		Environ:   []string{"PATH=" + os.Getenv("PATH")},
		OutputDir: filepath.Join(root, ".out"),
	})
	bash := set.List()[0]
	bash.Run(context.Background(), agent.ToolCall{
		Name: "Bash", Input: json.RawMessage(`{"command":"sleep 600","run_in_background":true}`),
	})
	for _, run := range set.Background() {
		fmt.Println(run.ID, run.Command)
	}
	fmt.Println(set.Close(), len(set.Background()))
	// Output:
	// bash_1 sleep 600
	// <nil> 0
}

// The tools work in a workspace; a `cd` in one command applies to the next.
func ExampleSet() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	set := tools.New(tools.Env{
		Workdir:   workspace.NewWorkdir(root),
		Environ:   []string{"PATH=" + os.Getenv("PATH")},
		OutputDir: filepath.Join(root, ".out"),
	})
	defer set.Close()
	run := func(name, input string) {
		for _, tool := range set.List() {
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
