package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/builtin"
)

// The tools work in a workspace; a `cd` in one command holds for the next.
func ExampleTools() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	tools := builtin.NewTools(builtin.Env{
		Workdir:   teammate.NewWorkdir(filepath.Join(root)),
		Environ:   []string{"PATH=" + os.Getenv("PATH")},
		OutputDir: filepath.Join(root, ".out"),
	})
	defer tools.Close()
	run := func(name, input string) {
		for _, tool := range tools.List() {
			if tool.Spec().Name == name {
				r := tool.Run(context.Background(),
					teammate.ToolCall{Name: name, Input: json.RawMessage(input)})
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
