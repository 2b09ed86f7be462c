package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
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
	if err == nil || t.Touched { // otherwise it may not have received the start of the prompt
		a.primed, a.lost = true, false
	}
	// Usage counts even if the prompt failed, as far as the program reported it.
	spent := a.opts.Counted(t.live.meter.end(t.request.answer()))
	if recordErr := t.finish(ctx, err, spent); recordErr != nil {
		t.GiveUp(recordErr)
	}
	t.Account(reply, &t.rec.Recorder, spent)
	a.opts.OnUsage(spent)
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
	post, _ := h.(agent.Correspondent)
	return &talk{
		Talk: program.NewTalk(h), a: a, live: a.live, rec: newRecorder(h, names), post: post, steers: map[*call][]agent.Input{},
	}
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
func (t *talk) finish(ctx context.Context, err error, spent program.Spent) error {
	if t.TranscriptFailed() {
		return nil
	}
	// Only a prompt with a regular end gets a final message: a message without calls tells a
	// later run that only the gates are left.
	if err == nil && ctx.Err() == nil && !t.stopping {
		return t.rec.finish("no result came", spent, true)
	}
	// All others leave the turn open after the results of their calls.
	why := "interrupted"
	if errors.Is(err, errCrash) && !t.stopping {
		why = "the agent program ended before this call did"
	}
	if program.Continues(ctx) {
		t.rec.dropTrailingText()
	}
	return t.rec.finish(why, spent, false)
}

// warn tells people about lines that were too long.
func (t *talk) warn() {
	if n := t.live.conn.dropped.Swap(0); n > 0 {
		t.Observer.Observe(events.Warning{Text: fmt.Sprintf(
			"the agent program sent %d messages of more than %d MiB, which were skipped",
			n, maxLine>>20)})
	}
}

// verdict returns what the end of a prompt means for the turn.
func (a *Agent) verdict(t *talk, err error) error {
	var answer *rpcError
	switch {
	case t.Err != nil: // the prompt was given up, whatever the program answered
		return t.Err
	case t.stopping && t.Halted != "":
		return nil
	case errors.As(err, &answer):
		return failure(answer, a.opts.Clock())
	case err != nil:
		return err
	}
	reason := texts.Text(program.Fields(t.request.result)["stopReason"])
	switch strings.ToLower(reason) {
	case "max_tokens":
		return &agent.APIError{Type: "max_output_tokens", Message: "the model's answer was cut off"}
	case "refusal":
		return &agent.APIError{Type: "invalid_request", Message: "the model refused to go on"}
	case "end_turn", "cancelled": // cancelled: some programs end their turn after a denial
	default:
		t.Observer.Observe(events.Warning{Text: fmt.Sprintf("the agent program ended its turn with %q", reason)})
	}
	return t.reportedFailure(a.opts.Clock())
}
