package runner

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/hooks"
)

// Policy is a gate that is written in Go and ships with covey. It decides by
// Outcome and Feedback of its Result; the Runner fills in the rest. A policy
// that panics refuses.
type Policy func(ctx context.Context, in hooks.Input) hooks.Result

// Agree is the result of a policy that has nothing against it.
func Agree() hooks.Result { return hooks.Result{Outcome: hooks.Success} }

// Refuse is the result of a policy that has something against it. The text goes to the model: it says
// what to do, not only what is wrong.
func Refuse(format string, args ...any) hooks.Result {
	return hooks.Result{Outcome: hooks.Blocking, ExitCode: 2, Feedback: fmt.Sprintf(format, args...)}
}

// Await is the result of a policy that waits for somebody's answer.
func Await(whose, format string, args ...any) hooks.Result {
	return hooks.Result{
		Outcome: hooks.Awaiting, Wait: &hooks.Wait{For: whose}, Feedback: fmt.Sprintf(format, args...),
	}
}

// Broken is the result of a policy that could not find out. As a gate it refuses; it is
// no refusal, because as a hook it fails open as all hooks do.
func Broken(err error) hooks.Result {
	return hooks.Result{Outcome: hooks.NonBlockingError, ExitCode: 1, Warning: err.Error()}
}
