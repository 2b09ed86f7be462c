package runner

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
)

// Policy is a gate written in Go that ships with covey. It decides by Outcome and Feedback
// of its Result; the Runner fills in the rest. A policy that panics refuses.
type Policy func(ctx context.Context, in hooks.Input) hooks.Result

// Agree returns the result of a policy that agrees.
func Agree() hooks.Result { return hooks.Result{Outcome: hooks.Success} }

// Refuse returns the result of a policy that refuses. The text goes to the model: it says
// what to do, not only what is wrong.
func Refuse(format string, args ...any) hooks.Result {
	return hooks.Result{Outcome: hooks.Blocking, ExitCode: 2, Feedback: fmt.Sprintf(format, args...)}
}

// Await returns the result of a policy that waits for an answer from whose.
func Await(whose, format string, args ...any) hooks.Result {
	return hooks.Result{
		Outcome: hooks.Awaiting, Wait: &hooks.Wait{For: whose}, Feedback: fmt.Sprintf(format, args...),
	}
}

// Broken returns the result of a policy that could not decide. As a gate it refuses; as a
// hook it fails open, as all hooks do.
func Broken(err error) hooks.Result {
	return hooks.Result{Outcome: hooks.NonBlockingError, ExitCode: 1, Warning: err.Error()}
}
