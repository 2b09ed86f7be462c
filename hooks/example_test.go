//go:build unix

package hooks_test

import (
	"context"
	"fmt"
	"os"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// A hook refuses a teammate's turn end; its words are ready for the model.
func ExampleRunner_Run() {
	runner, err := runner.New([]settings.Source{{Name: "spec", Settings: hooks.Settings{
		hooks.Stop: {{Hooks: []hooks.Handler{{Type: "command", Command: "echo run the tests first >&2; exit 2"}}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := runner.Run(context.Background(), hooks.Input{
		Common:  hooks.Common{SessionID: "s1", Cwd: os.TempDir(), PermissionMode: "default"},
		Payload: hooks.StopInput{LastAssistantMessage: "done"},
	}, nil)
	fmt.Println(out.Decision, out.Continues(), err)
	fmt.Println(out.Feedback[0])
	// Output:
	// block true <nil>
	// Stop hook feedback:
	// [echo run the tests first >&2; exit 2]: run the tests first
}

// A gate refuses by any exit code but 0, with the end of what it printed.
func ExampleRunner_Run_gate() {
	runner, err := runner.New([]settings.Source{{Name: "gates", Settings: hooks.Settings{
		hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Type: "command", Command: "echo FAIL ./api; exit 1", Gate: true}}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := runner.Run(context.Background(), hooks.Input{
		Payload: hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "1", TaskSubject: "Add the endpoint"}},
	}, nil)
	fmt.Println(out.Feedback[0], err)
	// Output:
	// TaskCompleted hook feedback:
	// [echo FAIL ./api; exit 1]: FAIL ./api <nil>
}

// Progress arrives while hooks run: a start without, an end with a result.
func ExampleProgress() {
	runner, err := runner.New([]settings.Source{{Settings: hooks.Settings{
		hooks.TeammateIdle: {{Hooks: []hooks.Handler{{Type: "command", Command: "true"}}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.Run(context.Background(), hooks.Input{Payload: hooks.TeammateIdleInput{TeammateName: "api"}},
		func(p hooks.Progress) {
			if p.Result == nil {
				fmt.Println(p.Event, p.Command, "starts")
			} else {
				fmt.Println(p.Event, p.Command, p.Result.Outcome)
			}
		})
	fmt.Println(err)
	// Output:
	// TeammateIdle true starts
	// TeammateIdle true success
	// <nil>
}

// Mistakes are found with their place and with what to write instead.
func ExampleValidate() {
	for _, problem := range settings.Validate(hooks.Settings{
		"TaskComplete": {{Hooks: []hooks.Handler{{Type: "command", Command: "go test ./..."}}}},
		hooks.Stop:     {{Hooks: []hooks.Handler{{Type: "command"}}}},
	}) {
		fmt.Println(problem)
	}
	// Output:
	// Stop[0].hooks[0].command: the hook has no command: write what it is to run
	// TaskComplete: there is no event "TaskComplete": did you mean TaskCompleted?
}

// A settings file is read as far as it can be used.
func ExampleParseSettings() {
	file, warnings := settings.Parse(".claude/settings.json", []byte(`{
		"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./stop.sh"}, {"type": "comand"}]}]},
		"permissions": {"deny": ["Bash(git push *)"]}}`))
	fmt.Println(file.Hooks[hooks.Stop][0].Hooks[0].Command, file.Permissions.Deny)
	for _, warning := range warnings {
		fmt.Println(warning)
	}
	// Output:
	// ./stop.sh [Bash(git push *)]
	// .claude/settings.json: hooks.Stop[0].hooks[1].type: there is no handler type "comand": write command, http, mcp_tool, prompt, agent: the hook is left out
}

// An input given by hand gets the common fields that it lacks.
func ExampleParseInput() {
	in, err := hooks.ParseInput(hooks.PreToolUse, []byte(`{"tool_name":"Bash","tool_input":{"command":"ls"}}`),
		hooks.Common{SessionID: "by-hand", Cwd: "/work"})
	if err != nil {
		fmt.Println(err)
		return
	}
	wire, err := in.Wire()
	fmt.Print(string(wire))
	fmt.Println(err)
	// Output:
	// {"session_id":"by-hand","transcript_path":"","cwd":"/work","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}
	// <nil>
}
