package program

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// Prompts takes a program through the prompts of a turn, and keeps what its model
// has not seen for the next one. The zero value is ready. It belongs to the
// goroutine of Run.
type Prompts struct{ held []agent.Input }

// Ask sends one prompt and returns what has to be said after it, which is worth
// keeping with an error too: what hooks said of a call that has run is not said again.
type Ask func(ctx context.Context, inputs []agent.Input, reply *agent.Reply) (later []agent.Input, err error)

// Converse sends inputs, and then whatever has to be said before the gates are asked.
// Each prompt counts as a pass: those of the model within it cannot be seen.
func (p *Prompts) Converse(ctx context.Context, inputs []agent.Input, h agent.Host, ask Ask) (agent.Reply, error) {
	var reply agent.Reply
	inputs = append(p.take(), inputs...)
	var after Afterwards
	eye, _ := h.(agent.Observer)
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
		inputs = append(p.take(), later...)
	}
}

// Hold keeps inputs that the model has not seen for the head of the next prompt.
// They count as handed out, so their ids are dropped.
func (p *Prompts) Hold(inputs ...agent.Input) {
	for _, in := range inputs {
		in.MessageID = ""
		p.held = append(p.held, in)
	}
}

// take returns what is held, once, the oldest first.
func (p *Prompts) take() []agent.Input {
	held := p.held
	p.held = nil
	return held
}

// CrashNotice is what a model is told whose program died while covey lived on. The
// prompt follows it, since nobody knows how much of it the program had kept.
const CrashNotice = "Your program ended in the middle of this turn and was started again. " +
	"Go on where you were; tool calls without a result may have had an effect, so look first. " +
	"What you were asked is repeated below."

// Again records the notice of a crash and returns the prompt with it at its head.
func Again(h agent.Host, inputs []agent.Input) ([]agent.Input, error) {
	notice := agent.Input{Kind: agent.FromCovey, Text: CrashNotice}
	if err := h.Record(agent.PromptRecord([]agent.Input{notice})); err != nil {
		return nil, fmt.Errorf("the notice of a crash could not be recorded: %w", err)
	}
	return append([]agent.Input{notice}, inputs...), nil
}

// Rest returns how long a program rests before its restart of this number: first,
// doubled with each restart, and at most twenty times that.
func Rest(first time.Duration, restart int) time.Duration {
	wait := first
	for range min(restart-1, 10) { // ten doublings are past the cap, more could overflow
		wait = min(2*wait, 20*first)
	}
	return wait
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

// IsAPIError reports whether a model request failed, after which the transcript is
// still sound; a transcript that could not be written is not.
func IsAPIError(err error) bool {
	var e *agent.APIError
	return errors.As(err, &e)
}
