package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// prompt runs one session/prompt to its end and accounts for it.
func (a *Agent) prompt(
	ctx context.Context, blocks []json.RawMessage, h agent.Host, reply *agent.Reply,
) (*talk, error) {
	t := a.talk(h)
	err := t.run(ctx, blocks)
	// From here on the transcript is completed whatever has happened.
	if errors.Is(err, errCrash) {
		err = fmt.Errorf("%w (%s)", err, a.live.proc.Summary())
	}
	if err == nil || t.touched { // otherwise it may not have received the start of the prompt
		a.primed, a.lost = true, false
	}
	// Usage counts even if the prompt failed, as far as the program reported it.
	spent := t.live.meter.end(t.request.answer())
	if recordErr := t.finish(ctx, err, spent); recordErr != nil && t.err == nil {
		t.err = recordErr
	}
	reply.ToolCalls += t.rec.made
	reply.Usage = reply.Usage.Plus(spent.Usage)
	reply.Halted = t.halted
	if t.rec.last != "" {
		reply.Text = t.rec.last
	}
	if a.opts.OnUsage != nil {
		a.opts.OnUsage(spent)
	}
	t.warn()
	// The next Run starts the program again and reopens the same session.
	if t.stopping && a.opts.Quirks.ReopenAfterCancel {
		a.down()
	}
	return t, a.verdict(t, err)
}

// talk returns a new prompt that has not been sent.
func (a *Agent) talk(h agent.Host) *talk {
	names := naming{titleCommand: a.opts.Quirks.TitleCommand}
	for _, s := range a.servers {
		names.servers = append(names.servers, s.Name)
	}
	t := &talk{a: a, live: a.live, rec: newRecorder(h, names), steers: map[*call][]agent.Input{}}
	// These interfaces are optional: a test or another host may implement fewer than a
	// member does.
	t.sup, _ = h.(agent.Supervisor)
	t.post, _ = h.(agent.Correspondent)
	t.observer, _ = h.(events.Observer)
	return t
}

// answer returns the result of a request, or nil if it was never sent or answered.
func (c *call) answer() json.RawMessage {
	if c == nil {
		return nil
	}
	select {
	case <-c.done:
		return c.result
	default:
		return nil
	}
}

// finish closes the transcript of the prompt. Open calls get the true reason: a model that
// reads "interrupted" checks before it repeats a call, and one that reads of a crash knows
// that nobody interrupted it.
func (t *talk) finish(ctx context.Context, err error, spent Spent) error {
	if t.err != nil && !program.IsAPIError(t.err) {
		return nil // writing the transcript has failed
	}
	// Only a prompt with a regular end gets a final message: a message without calls tells a
	// later run that only the gates are left.
	if err == nil && ctx.Err() == nil && !t.stopping {
		return t.rec.finish(spent)
	}
	// All others leave the turn open after the results of their calls.
	why := "interrupted"
	if errors.Is(err, errCrash) && !t.stopping {
		why = "the agent program ended before this call did"
	}
	// If covey is stopped, the next run continues the turn. Text after the last call would
	// tell that run that only the gates are left. Interrupts and deadlines end the turn, so
	// their text stays.
	if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), agent.ErrInterrupted) {
		t.rec.dropTrailingText()
	}
	if err := t.rec.abandon(why); err != nil {
		return err
	}
	t.rec.speak()
	return t.rec.recordDraft(spent)
}

// warn tells people about lines that were too long.
func (t *talk) warn() {
	if n := t.live.conn.dropped.Swap(0); n > 0 && t.observer != nil {
		t.observer.Observe(events.Warning{Text: fmt.Sprintf(
			"the agent program sent %d messages of more than %d MiB, which were skipped",
			n, maxLine>>20)})
	}
}

// verdict returns what the end of a prompt means for the turn.
func (a *Agent) verdict(t *talk, err error) error {
	var answer *rpcError
	switch {
	case t.err != nil: // the prompt was given up, whatever the program answered
		return t.err
	case t.stopping && t.halted != "":
		return nil
	case errors.As(err, &answer):
		return failure(answer, a.opts.Clock())
	case err != nil:
		return err
	}
	reason := text(fieldsOf(t.request.result)["stopReason"])
	switch strings.ToLower(reason) {
	case "max_tokens":
		return &agent.APIError{Type: "max_output_tokens", Message: "the model's answer was cut off"}
	case "refusal":
		return &agent.APIError{Type: "invalid_request", Message: "the model refused to go on"}
	case "end_turn", "cancelled": // cancelled: some programs end their turn after a denial
	default:
		if t.observer != nil {
			text := fmt.Sprintf("the agent program ended its turn with %q", reason)
			t.observer.Observe(events.Warning{Text: text})
		}
	}
	return t.reportedFailure(a.opts.Clock())
}
