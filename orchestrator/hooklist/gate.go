package hooklist

import "github.com/coveyteam/covey/hooks"

// GateAsked is sent before the hooks of a gate run: of Stop, TaskCompleted or TeammateIdle, at
// a turn end, at a call that completes a task, or at a merge. The lines of its hooks have the
// same ToolUseID and do not name the task.
type GateAsked struct {
	Event     string `json:"event"`
	ToolUseID string `json:"tool_use_id"`
	TaskID    string `json:"task_id,omitempty"` // of TaskCompleted
	Merge     string `json:"merge,omitempty"`   // id of the merge that it judges
}

// EventType returns the event's name in the journal.
func (GateAsked) EventType() string { return "gate" }

// Announced returns observe, and calls tell before the first hook of a gate. Of other events
// it returns observe as it is.
func Announced(
	in hooks.Payload, merge string, tell func(GateAsked), observe func(hooks.Progress),
) func(hooks.Progress) {
	asked := GateAsked{Event: string(in.Event()), Merge: merge}
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
