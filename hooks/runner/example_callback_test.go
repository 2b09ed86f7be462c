package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
)

// A policy in Go looks at a shell call before it is made. The function gets what
// a command would find on its stdin, and answers what a command would print.
func ExampleRegistry_On() {
	var registry hooks.Registry
	remove, err := registry.On(hooks.PreToolUse, "Bash|Edit",
		func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
			call, err := hooks.As[hooks.PreToolUseInput](in)
			if err != nil {
				return hooks.Answer{}, err
			}
			var bash struct{ Command string }
			if err := json.Unmarshal(call.ToolInput, &bash); err != nil {
				return hooks.Answer{}, err
			}
			if strings.Contains(bash.Command, "git push") {
				return hooks.Answer{Decision: hooks.Block, Reason: "a person pushes, not an agent"}, nil
			}
			return hooks.Answer{}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(nil, &runner.Options{Callbacks: &registry})
	if err != nil {
		fmt.Println(err)
		return
	}
	push := hooks.Input{Payload: hooks.PreToolUseInput{
		ToolName: "Bash", ToolInput: []byte(`{"command":"git push origin main"}`), ToolUseID: "call-1",
	}}
	out, err := r.Run(context.Background(), push, nil)
	fmt.Println(out.Decision, out.Feedback, err)

	remove() // at any time, also while events run
	out, err = r.Run(context.Background(), push, nil)
	fmt.Println(out.Decision, out.Matched, err)
	// Output:
	// block [PreToolUse:Bash hook error: a person pushes, not an agent] <nil>
	// pass 0 <nil>
}

// A callback that cannot judge lets the action go on, and is counted. A gate
// refuses.
func ExampleRegistry_Add() {
	for _, gate := range []bool{false, true} {
		var registry hooks.Registry
		_, err := registry.Add(hooks.TaskCompleted, hooks.Callback{
			Name: "review", Gate: gate, Timeout: time.Minute,
			Do: func(context.Context, hooks.Input) (hooks.Answer, error) {
				return hooks.Answer{}, errors.New("the review service is down")
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		hookRunner, err := runner.New(nil, &runner.Options{Callbacks: &registry})
		if err != nil {
			fmt.Println(err)
			return
		}
		out, err := hookRunner.Run(context.Background(), hooks.Input{Payload: hooks.TaskCompletedInput{}}, nil)
		fmt.Println(out.Decision, "failed open:", out.FailedOpen(), err)
		fmt.Println(out.Results[0].Command, out.Results[0].Outcome, out.Results[0].Warning)
	}
	// Output:
	// pass failed open: 1 <nil>
	// callback review non_blocking_error the callback failed: the review service is down
	// block failed open: 0 <nil>
	// callback review blocking
}
