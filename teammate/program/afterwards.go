package program

import (
	"slices"

	"github.com/coveyteam/covey/teammate/agent"
)

// afterwardsCap is how often in a row an agent program is prompted for what hooks alone
// have to say. As many refusals let a turn end (limits.stop_block_cap).
const afterwardsCap = 8

// Afterwards bounds the prompts that a program gets for nothing but what hooks said of
// calls that had been made already. A hook that finds fault with every call would
// else keep a turn up for ever: the program makes another call, and is told again. The
// count is that of one stretch between two visits of the gates; the zero value is ready.
type Afterwards struct{ inARow int }

// Enough takes in what the next prompt would be and reports whether it is to wait for
// one that somebody else causes. eye, which may be nil, is told when that is so.
func (a *Afterwards) Enough(next []agent.Input, eye agent.Observer) bool {
	if slices.ContainsFunc(next, func(in agent.Input) bool {
		return in.Kind != agent.FromHook &&
			in.Kind != agent.FromContext
	}) {
		a.inARow = 0 // mail, or what covey has to say
		return false
	}
	if a.inARow++; a.inARow <= afterwardsCap {
		return false
	}
	if eye != nil {
		eye.Observe(agent.Warning{Text: "hooks have found fault with what was done already after each of the last " +
			"prompts: what they said last waits for the next prompt, for this could go on for ever"})
	}
	return true
}
