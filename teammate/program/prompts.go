package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Prompts sends the prompts of a turn to a program, and keeps inputs that its model has not seen
// for the next one. The zero value is ready to use. It belongs to the goroutine of Run.
type Prompts struct{ held []agent.Input }

// Ask sends one prompt and returns the inputs for the next one. They are valid even with an error,
// because hooks do not repeat what they said of a call.
type Ask func(ctx context.Context, inputs []agent.Input, reply *agent.Reply) (later []agent.Input, err error)

// Converse sends inputs, and then all that must be said before the gates. Each prompt counts as a
// pass, because the model requests within it are not visible.
func (p *Prompts) Converse(ctx context.Context, inputs []agent.Input, h agent.Host, ask Ask) (agent.Reply, error) {
	var reply agent.Reply
	inputs = append(p.drain(), inputs...)
	var after Afterwards
	eye, _ := h.(events.Observer)
	for {
		mail, err := h.Pass(ctx)
		if err != nil {
			p.Hold(inputs...)
			return reply, err
		}
		inputs = append(inputs, mail...)
		if err := h.Record(agent.PromptRecord(inputs)); err != nil {
			return reply, fmt.Errorf("the prompt could not be recorded: %w", err)
		}
		later, err := ask(ctx, inputs, &reply)
		if err != nil || reply.Halted != "" || len(later) == 0 || after.Enough(later, eye) {
			p.Hold(later...)
			return reply, err
		}
		inputs = append(p.drain(), later...)
	}
}

// Hold keeps inputs that the model has not seen for the start of the next prompt. It drops their ids,
// because they count as delivered.
func (p *Prompts) Hold(inputs ...agent.Input) {
	for _, in := range inputs {
		in.MessageID = ""
		p.held = append(p.held, in)
	}
}

// drain removes and returns the held inputs, oldest first.
func (p *Prompts) drain() []agent.Input {
	held := p.held
	p.held = nil
	return held
}

// CrashNotice tells a model that its program crashed while covey was running. The prompt follows it,
// because it is unknown how much of it the program had stored.
const CrashNotice = "Your program ended in the middle of this turn and was started again. " +
	"Go on where you were; tool calls without a result may have had an effect, so look first. " +
	"What you were asked is repeated below."

// Again records the notice of a crash and returns the prompt with the notice before it.
func Again(h agent.Host, inputs []agent.Input) ([]agent.Input, error) {
	notice := agent.Input{Kind: agent.FromCovey, Text: CrashNotice}
	if err := h.Record(agent.PromptRecord([]agent.Input{notice})); err != nil {
		return nil, fmt.Errorf("the notice of a crash could not be recorded: %w", err)
	}
	return append([]agent.Input{notice}, inputs...), nil
}

// Rest returns the wait before the given restart of a program: first, doubled with each restart, and
// at most twenty times first.
func Rest(first time.Duration, restart int) time.Duration {
	wait := first
	for range min(restart-1, 10) { // ten doublings exceed the cap, and more could overflow
		wait = min(2*wait, 20*first)
	}
	return wait
}

// DefaultTimes sets each time that is not positive.
func DefaultTimes(defaults map[*time.Duration]time.Duration) {
	for field, value := range defaults {
		if *field <= 0 {
			*field = value
		}
	}
}

// Sleep waits for d, or fails with ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsAPIError reports whether err is a failed model request. Then the transcript is intact, unlike
// after a failure to write it.
func IsAPIError(err error) bool {
	var e *agent.APIError
	return errors.As(err, &e)
}

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
