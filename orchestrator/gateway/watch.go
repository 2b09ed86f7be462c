package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Watch watches one prompt of the program. verdict returns the error of the turn: what the gateway knows,
// or else what the program has said.
func (d *Door) Watch(ctx context.Context) (watched context.Context, verdict func(error) error) {
	watched, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.verdict, d.remark, d.cancel = nil, "", cancel
	return watched, func(said error) error {
		cancel(nil)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.cancel = nil
		switch {
		case ctx.Err() != nil: // it was interrupted
			return said
		case d.verdict != nil:
			return d.verdict
		case said == nil && d.asked == 0 && d.spoke:
			return d.unasked()
		}
		if api, ok := errors.AsType[*agent.APIError](said); ok && d.remark != "" {
			explained := *api
			explained.Message += " (" + d.remark + ")"
			return &explained
		}
		return said
	}
}

// Saw ends the prompt of a program that works without the gateway. e is an event of its member.
func (d *Door) Saw(e events.Data) {
	switch e.(type) {
	case events.TextSaid, events.ToolCalled:
	default:
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spoke = true
	if d.asked == 0 && d.cancel != nil && d.verdict == nil {
		d.verdict = d.unasked()
		d.cancel(d.verdict)
	}
}

// unasked is the error of a program that does not use its base URL.
func (d *Door) unasked() error {
	return fmt.Errorf("its agent program has answered without a request through the gateway: it ignores its base URL (%s), "+
		"so neither its use nor its limits can be held; write gateway: off for %s, or use another program", d.URL(), d.Member)
}

// judge records the error with which the turn ends; the first counts.
func (d *Door) judge(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.verdict == nil {
		d.verdict = err
	}
}

// note records what may explain a failed turn.
func (d *Door) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remark = fmt.Sprintf(format, args...)
}
