package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// steerWait is how long run waits for the answers to steered mail after the prompt itself
// has been answered.
const steerWait = 2 * time.Second

// talk is one running prompt. Like the Host, it belongs to the goroutine of Run.
type talk struct {
	program.Talk
	a    *Agent
	live *live
	rec  *recorder
	post agent.Correspondent

	request  *call
	steers   map[*call][]agent.Input // sent to the running prompt, not answered yet
	stopping bool                    // session/cancel was sent
	answered bool
	deadline <-chan time.Time
	lively   bool // the model was just heard from
	closing  closing
	before   string // the end of the program's stderr before the prompt
}

// update holds the fields of a session/update.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"`
	MessageID string          `json:"messageId"`
	ToolCall  string          `json:"toolCallId"`
	Entries   []planEntry     `json:"entries"`
	Used      int64           `json:"used"`
	Size      int64           `json:"size"`
	Cost      struct {
		Amount float64 `json:"amount"`
	} `json:"cost"`
	Meta json.RawMessage `json:"_meta"`
}

// planEntry is one step of a plan. Its text is passed on unchanged, since no rule checks
// it.
type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// run sends the prompt and handles updates until it is answered. When ctx ends, or the
// prompt is given up, it cancels the prompt; if the program does not stop, it ends the
// program. The error is errCrash if the program ended before its answer.
func (t *talk) run(ctx context.Context, prompt []json.RawMessage) error {
	box := t.live.conn.in
	box.open()
	defer t.close()
	heard := t.live.conn.heard.Load() // before the prompt, so that each answer to it is a sign of life
	request, err := t.live.conn.start("session/prompt", map[string]any{
		"sessionId": t.live.session, "prompt": prompt,
	}, true)
	if err != nil {
		return fmt.Errorf("%w: %w", errCrash, err)
	}
	t.request = request
	t.live.meter.begin()
	t.before = t.live.proc.Stderr.Text()
	watch, quiet := t.a.opts.Alarm(t.silenceLimit()), t.a.opts.Alarm(t.a.opts.Timeouts.Quiet)
	lull := t.a.opts.Timeouts.Quiet
	defer watch.Stop()
	defer quiet.Stop()
	// done becomes nil after the cancel: the loop continues until the program answers, so
	// that nothing it says until then is lost.
	for done := ctx.Done(); ; {
		select {
		case <-box.ready:
			t.lively = false
			t.takeAll(ctx)
			if now := t.live.conn.heard.Load(); now != heard {
				heard = now
				watch.Set(t.silenceLimit())
			}
			if t.lively { // a model that has begun may think for a while
				lull = 3 * t.a.opts.Timeouts.Quiet
				quiet.Set(lull)
			}
		case <-quiet.C: // an unreachable endpoint shows like this, long before the watchdog
			t.reportSilence(lull)
		case <-t.live.conn.gone: // all that it said before is in the inbox now
			t.takeAll(ctx)
			if !t.answered {
				return fmt.Errorf("%w: %w", errCrash, errGone)
			}
			return t.outcome()
		case <-done:
			done = nil
			t.cancel()
		case <-watch.C:
			// Unknown messages are signs of life too.
			if now := t.live.conn.heard.Load(); now != heard {
				heard = now
			} else {
				t.giveUp(program.Silence(t.silenceLimit(), "told to stop"))
			}
			watch.Set(t.silenceLimit())
		case <-t.deadline:
			if t.answered {
				return t.outcome()
			}
			t.live.stop()
			return fmt.Errorf("%w: it did not stop when it was told to", errCrash)
		}
		if t.answered && len(t.steers) == 0 {
			return t.outcome()
		}
	}
}

// close shuts the inbox. Mail without an answer is sent again, because a repetition is
// better than a loss.
func (t *talk) close() {
	for _, n := range t.live.conn.in.shut() {
		if n.question != nil {
			t.live.conn.reply(n.question.id, cancelledOutcome())
		}
	}
	for steer, inputs := range t.steers {
		t.live.conn.forget(steer)
		t.Later = append(t.Later, inputs...)
	}
	if t.request != nil {
		t.live.conn.forget(t.request)
	}
}

// outcome returns the program's answer as an error.
func (t *talk) outcome() error {
	if answer, ok := errors.AsType[*rpcError](t.request.err); ok {
		return answer
	}
	if t.request.err != nil {
		return fmt.Errorf("%w: %w", errCrash, t.request.err)
	}
	return nil
}

// silenceLimit returns how long the program may be silent now.
func (t *talk) silenceLimit() time.Duration {
	if t.rec.Busy() {
		return t.a.opts.Timeouts.Tool
	}
	return t.a.opts.Timeouts.Silence
}

// giveUp ends the prompt early with err; the first error counts.
func (t *talk) giveUp(err error) {
	t.GiveUp(err)
	t.cancel()
}

// cancel tells the program to stop, once, and sets a deadline. The program still answers the
// prompt, with "cancelled"; run waits for that answer until the deadline.
func (t *talk) cancel() {
	if t.stopping || t.answered {
		return
	}
	t.stopping = true
	t.live.conn.notify("session/cancel", map[string]any{"sessionId": t.live.session})
	t.deadline = time.After(t.a.opts.Timeouts.Cancel)
}

// takeAll handles all waiting items. An error of one item gives the prompt up, but the rest
// is still handled, because a question among it needs its answer.
func (t *talk) takeAll(ctx context.Context) {
	for _, n := range t.live.conn.in.drain() {
		var err error
		switch {
		case n.question != nil:
			err = t.decide(ctx, n.question)
		case n.answer == t.request:
			t.answered = true
			if len(t.steers) > 0 {
				t.deadline = time.After(steerWait)
			}
		case n.answer != nil:
			err = t.steered(n.answer)
		case t.answered: // too late: after the answer
		default:
			err = t.handleUpdate(ctx, n.update)
		}
		if err != nil {
			t.giveUp(err)
		}
	}
}

// handleUpdate handles one update.
func (t *talk) handleUpdate(ctx context.Context, raw json.RawMessage) error {
	if words := retryNotice(raw); words != "" {
		t.ReportRetry("the agent program, which tries to reach its model again: " + texts.Unbroken(words))
		return nil
	}
	var u update
	if json.Unmarshal(raw, &u) != nil {
		// One field has an unexpected type, so decode the needed fields one by one.
		u = update{Kind: texts.Text(program.Fields(raw)["sessionUpdate"]), ToolCall: texts.Text(program.Fields(raw)["toolCallId"])}
		program.Lenient(program.Fields(raw)["content"], &u.Content)
	}
	// Unknown kinds are ignored: programs keep inventing new ones, and a guess could turn a
	// summary into a message of the user.
	if t.live.meter.update(u) {
		t.a.opts.OnLive(t.a.opts.Counted(t.live.meter.soFar()))
	}
	t.lively = t.lively || substantial(u.Kind)
	switch u.Kind {
	case "agent_message_chunk":
		t.Touched = true
		var b block
		program.Lenient(u.Content, &b)
		t.closing.say(b.words())
		return t.rec.say(b.words(), u.MessageID)
	case "session_info_update":
		t.closing.failed = t.closing.failed || systemError(u.Meta)
	case "tool_call", "tool_call_update":
		t.Touched = true
		t.closing = closing{}
		if u.ToolCall != "" {
			return t.handleToolCall(ctx, u.ToolCall, raw)
		}
	case "plan":
		t.plan(u.Entries)
	}
	return nil
}

// handleToolCall handles an update of a tool call. Hooks see a call after its result arrives and
// before it is recorded. A call that was only announced is not recorded yet, because some
// programs announce calls that they never make.
func (t *talk) handleToolCall(ctx context.Context, id string, raw json.RawMessage) error {
	c := t.rec.call(id)
	if c.over {
		return nil // it already has its result
	}
	c.merge(raw)
	if !c.begun() {
		return nil
	}
	if err := t.rec.begin(c); err != nil || !c.ended() {
		return err
	}
	// A denied call did not run, so hooks do not run either.
	if c.denied == "" && t.Sup != nil {
		for _, call := range t.rec.names.calls(c) {
			t.applyRemarks(t.Sup.Report(ctx, call, c.result()))
		}
	}
	if err := t.rec.end(c); err != nil {
		return err
	}
	// The model is called again after each tool call. That is the moment for mail, like
	// between the passes of the builtin agent.
	if t.post != nil && t.live.caps.steer && !t.stopping {
		t.tell(t.post.Mail(ctx))
	}
	return nil
}

// plan reports the program's plan to the journal.
func (t *talk) plan(entries []planEntry) {
	p := events.Planned{Entries: []events.PlanEntry{}}
	for _, e := range entries {
		p.Entries = append(p.Entries, events.PlanEntry{
			Text: e.Content, Status: e.Status, Priority: e.Priority,
		})
	}
	t.Observer.Observe(p)
}

// applyRemarks handles the feedback of hooks. A halt ends the turn at once. Feedback is sent
// first, because a program that was told to stop accepts nothing.
func (t *talk) applyRemarks(r agent.Remarks) {
	t.tell(r.Feedback)
	if r.Halted != "" {
		t.Halted = r.Halted
		t.cancel()
	}
}

// tell sends inputs to the model: at once if the program can be steered, otherwise in a
// prompt of their own. Steered inputs count as delivered only when steered gets the answer;
// until then close may put them back.
func (t *talk) tell(inputs []agent.Input) {
	if len(inputs) == 0 {
		return
	}
	if t.live.caps.steer && !t.stopping && !t.answered {
		steer, err := t.live.conn.start("_session/steering", map[string]any{
			"sessionId": t.live.session, "prompt": textBlocks(inputs),
			"_meta": map[string]any{"steering": map[string]string{"idleBehavior": "promptRequired"}},
		}, true)
		if err == nil {
			t.steers[steer] = inputs
			return
		}
	}
	t.Later = append(t.Later, inputs...)
}

// steered handles the answer to steered mail.
func (t *talk) steered(answer *call) error {
	// promptRequired means that no turn was running any more. Every other answer without an
	// error means that the model will see the mail.
	inputs, ok := t.steers[answer]
	if !ok {
		return nil
	}
	delete(t.steers, answer)
	if answer.err != nil || texts.Text(program.Fields(answer.result)["outcome"]) == "promptRequired" {
		if refused, ok := errors.AsType[*rpcError](answer.err); ok && refused.Code == codeNoMethod {
			t.live.caps.steer = false
		}
		t.Later = append(t.Later, inputs...)
		return nil
	}
	return t.rec.Hear(inputs)
}

// textBlocks returns inputs as blocks of a prompt.
func textBlocks(inputs []agent.Input) []json.RawMessage {
	blocks := []json.RawMessage{}
	for _, in := range inputs {
		blocks = append(blocks, textBlock(in.Text))
	}
	return blocks
}

// textBlock returns text as a block of a prompt, the one kind that every program accepts.
func textBlock(text string) json.RawMessage {
	return texts.Encode(map[string]string{"type": "text", "text": text})
}
