//go:build unix

package runner_test

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
	r, err := runner.New([]settings.Source{{Name: "spec", Settings: hooks.Settings{
		hooks.Stop: {{Hooks: []hooks.Handler{{Type: "command", Command: "echo run the tests first >&2; exit 2"}}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.Run(context.Background(), hooks.Input{
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
	r, err := runner.New([]settings.Source{{Name: "gates", Settings: hooks.Settings{
		hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Type: "command", Command: "echo FAIL ./api; exit 1", Gate: true}}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.Run(context.Background(), hooks.Input{
		Payload: hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "1", TaskSubject: "Add the endpoint"}},
	}, nil)
	fmt.Println(out.Feedback[0], err)
	// Output:
	// TaskCompleted hook feedback:
	// [echo FAIL ./api; exit 1]: FAIL ./api <nil>
}

// Progress arrives while hooks run: a start without, an end with a result.
func ExampleRunner_Run_progress() {
	r, err := runner.New([]settings.Source{{Settings: hooks.Settings{
		hooks.TeammateIdle: {{Hooks: []hooks.Handler{{Type: "command", Command: "true"}}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Run(context.Background(), hooks.Input{Payload: hooks.TeammateIdleInput{TeammateName: "api"}},
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
