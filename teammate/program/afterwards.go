package program

import (
	"slices"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// afterwardsCap is how often in a row an agent program is prompted only with the output of hooks.
// It equals the default of limits.stop_block_cap.
const afterwardsCap = 8

// Afterwards limits prompts that contain only what hooks said about calls that have already run. A
// hook that objects to every call would otherwise keep a turn going for ever, because each prompt
// leads to another call. It counts between two visits of the gates; the zero value is ready to use.
type Afterwards struct{ inARow int }

// Enough counts the next prompt and reports whether it must wait for a prompt with another cause.
// In that case it tells eye, which may be nil.
func (a *Afterwards) Enough(next []agent.Input, eye events.Observer) bool {
	if slices.ContainsFunc(next, func(in agent.Input) bool {
		return in.Kind != agent.FromHook &&
			in.Kind != agent.FromContext
	}) {
		a.inARow = 0 // mail, or a message of covey
		return false
	}
	if a.inARow++; a.inARow <= afterwardsCap {
		return false
	}
	if eye != nil {
		eye.Observe(events.Warning{Text: "hooks objected to finished tool calls after each of the last prompts: their " +
			"last messages wait for the next prompt, because this could go on for ever"})
	}
	return true
}
