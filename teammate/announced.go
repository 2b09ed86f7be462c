package teammate

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
)

// Announced returns observe, and calls tell before the first hook of a gate. Of other events
// it returns observe as it is.
func Announced(
	in hooks.Payload, merge string, tell func(events.GateAsked), observe func(hooks.Progress),
) func(hooks.Progress) {
	asked := events.GateAsked{Event: string(in.Event()), Merge: merge}
	switch in := in.(type) {
	case hooks.TaskCompletedInput:
		if asked.TaskID = in.TaskID; merge != "" {
			asked.TaskID = "" // a merge has a list of tasks
		}
	case hooks.StopInput, hooks.TeammateIdleInput:
	default:
		return observe
	}
	told := false
	return func(p hooks.Progress) {
		if !told && p.Background == nil {
			asked.ToolUseID, told = p.ToolUseID, true
			tell(asked)
		}
		observe(p)
	}
}
