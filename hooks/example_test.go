//go:build unix

package hooks_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
)

// A hook refuses a teammate's turn end; its words are ready for the model.
func ExampleRunner_Run() {
	runner, err := hooks.NewRunner([]hooks.Source{{Name: "spec", Settings: hooks.Settings{
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
	runner, err := hooks.NewRunner([]hooks.Source{{Name: "gates", Settings: hooks.Settings{
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
	runner, err := hooks.NewRunner([]hooks.Source{{Settings: hooks.Settings{
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

// One rule, asked in the three ways that differ in doubt.
func ExampleRule() {
	rule, err := hooks.ParseRule("Bash(git push *)")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, input := range []string{`{"command":"git push origin"}`, `{"command":"cd x && git push"}`, `{"command":"$TOOL push"}`} {
		call := hooks.Call{Tool: "Bash", Input: []byte(input), Cwd: "/w", Root: "/w"}
		fmt.Println(input, "permits:", rule.Permits(call), "forbids:", rule.Forbids(call))
	}
	// Output:
	// {"command":"git push origin"} permits: true forbids: true
	// {"command":"cd x && git push"} permits: false forbids: true
	// {"command":"$TOOL push"} permits: false forbids: true
}

// Several rules can allow a command line together.
func ExamplePermittedBy() {
	var rules []hooks.Rule
	for _, text := range []string{"Bash(cd *)", "Bash(go test *)"} {
		rule, err := hooks.ParseRule(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		rules = append(rules, rule)
	}
	rule, ok := hooks.PermittedBy(rules, hooks.Call{Tool: "Bash", Input: []byte(`{"command":"cd api && go test ./..."}`)})
	fmt.Println(rule, ok)
	// Output: Bash(cd *) true
}

// Mistakes are found with their place and with what to write instead.
func ExampleValidate() {
	for _, problem := range hooks.Validate(hooks.Settings{
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
	file, warnings := hooks.ParseSettings(".claude/settings.json", []byte(`{
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

// A process is ended with everything that it started.
func ExampleProcess_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, stdout := io.Pipe()
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
		cancel()
	}()
	exit, err := proc.Process{Args: []string{"/bin/sh", "-c", "echo waiting; sleep 600"}, Stdout: stdout}.Run(ctx)
	fmt.Println(exit.Code, exit.Signal, exit.Stopped, err)
	// Output:
	// waiting
	// -1 terminated true <nil>
}
