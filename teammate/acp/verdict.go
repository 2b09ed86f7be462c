package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// prompt takes one session/prompt to its end and books what it came to.
func (a *Agent) prompt(
	ctx context.Context, blocks []json.RawMessage, h agent.Host, reply *agent.Reply,
) (*talk, error) {
	t := a.talk(h)
	err := t.run(ctx, blocks)
	// From here on the transcript is put into order, whatever has happened.
	if errors.Is(err, errCrash) {
		err = fmt.Errorf("%w (%s)", err, a.live.proc.epitaph())
	}
	if err == nil || t.touched { // else it may never have got the head of the prompt
		a.primed, a.lost = true, false
	}
	// Usage counts also where the prompt failed, as far as the program told it.
	spent := t.live.meter.end(t.request.answer())
	if recordErr := t.finish(ctx, err, spent.Usage); recordErr != nil && t.err == nil {
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
	// The next Run starts the program again, and enters the same session.
	if t.stopping && a.opts.Quirks.ReopenAfterCancel {
		a.down()
	}
	return t, a.verdict(t, err)
}

// talk is a prompt that is still to be sent.
func (a *Agent) talk(h agent.Host) *talk {
	names := naming{titleCommand: a.opts.Quirks.TitleCommand}
	for _, s := range a.servers {
		names.servers = append(names.servers, s.Name)
	}
	t := &talk{a: a, live: a.live, rec: newRecorder(h, names), steers: map[*call][]agent.Input{}}
	// What the Host cannot do is done without: a test, or another host, may offer
	// less than a member does.
	t.sup, _ = h.(agent.Supervisor)
	t.post, _ = h.(agent.Correspondent)
	t.eye, _ = h.(agent.Observer)
	return t
}

// answer is what a request came to; nothing if it was never sent or answered.
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

// finish closes the transcript of the prompt. Calls that hang are closed with
// the reason that is true: a model which reads "interrupted" looks before it
// repeats, and one which reads of a crash knows that nobody wanted it to stop.
func (t *talk) finish(ctx context.Context, err error, usage agent.Usage) error {
	if t.err != nil && !program.IsAPIError(t.err) {
		return nil // the transcript itself is what failed
	}
	// Only a prompt that came to its own end has fallen silent: a message without
	// calls would tell a later life that nothing but the gates is left to do.
	if err == nil && ctx.Err() == nil && !t.stopping {
		return t.rec.finish(usage)
	}
	// All others leave the turn open behind the results of their calls.
	why := "interrupted"
	if errors.Is(err, errCrash) && !t.stopping {
		why = "the agent program ended before this call did"
	}
	// A covey that is told to stop goes on with the turn in its next life. Words
	// behind the last call would tell that life that only the gates are left.
	// Interrupts and deadlines end the turn, so nothing is left to go on with.
	if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), agent.ErrInterrupted) {
		t.rec.hush()
	}
	if err := t.rec.abandon(why); err != nil {
		return err
	}
	t.rec.speak()
	return t.rec.settle(usage)
}

// warn tells people of lines that were too long to be read.
func (t *talk) warn() {
	if n := t.live.conn.dropped.Swap(0); n > 0 && t.eye != nil {
		t.eye.Observe(agent.Warning{Text: fmt.Sprintf(
			"the agent program sent %d messages of more than %d MiB, which were passed over",
			n, maxLine>>20)})
	}
}

// verdict says what the end of a prompt means for the turn.
func (a *Agent) verdict(t *talk, err error) error {
	var answer *rpcError
	switch {
	case t.err != nil: // the prompt was given up, whatever the program says to it
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
	case "end_turn", "cancelled": // cancelled: a refused permission ends some programs' turns
	default:
		if t.eye != nil {
			text := fmt.Sprintf("the agent program ended its turn with %q", reason)
			t.eye.Observe(agent.Warning{Text: text})
		}
	}
	return t.confession(a.opts.Clock())
}
