package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// steerWait is how long an answer to mail that was handed in is waited for
// once the prompt itself is answered.
const steerWait = 2 * time.Second

// talk is one prompt while the program works at it. It belongs to the goroutine
// of Run, as the Host does.
type talk struct {
	a    *Agent
	live *live
	rec  *recorder
	sup  agent.Supervisor // nil: the Host is none
	post agent.Correspondent
	eye  agent.Observer

	request  *call
	steers   map[*call][]agent.Input // handed in, not answered yet
	later    []agent.Input           // to be said in a prompt of their own
	stopping bool                    // session/cancel was sent
	answered bool
	touched  bool   // the program has said something
	halted   string // by a hook
	err      error  // why the prompt is given up: silence, or a transcript that cannot be written
	deadline <-chan time.Time
	lively   bool // its model was just heard of
	closing  closing
	notice   string // what people were last told of a lost model
	before   string // the end of what the program had said on its stderr before the prompt
}

// update is what a session/update may hold.
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

// planEntry is one step of a plan. Its words are passed on as they are: no rule
// looks at them.
type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// run sends the prompt and takes in what comes until it is answered. When ctx
// ends, or the prompt is given up, the program is told to stop; if it does not,
// it is ended. The error is errCrash if the program is gone before its answer.
func (t *talk) run(ctx context.Context, prompt []json.RawMessage) error {
	box := t.live.conn.in
	box.open()
	defer t.close()
	request, err := t.live.conn.start("session/prompt", map[string]any{
		"sessionId": t.live.session, "prompt": prompt,
	}, true)
	if err != nil {
		return fmt.Errorf("%w: %w", errCrash, err)
	}
	t.request = request
	t.live.meter.begin()
	t.before = t.live.proc.stderr.Text()
	watch, quiet := t.a.opts.Alarm(t.patience()), t.a.opts.Alarm(t.a.opts.Timeouts.Quiet)
	lull := t.a.opts.Timeouts.Quiet
	defer watch.Stop()
	defer quiet.Stop()
	// done becomes nil once the program was told to stop: the loop goes on until
	// it answers, so that what it says on its way out is not lost.
	for done, heard := ctx.Done(), t.live.conn.heard.Load(); ; {
		select {
		case <-box.ready:
			t.lively = false
			t.takeAll(ctx)
			if now := t.live.conn.heard.Load(); now != heard {
				heard = now
				watch.Set(t.patience())
			}
			if t.lively { // a model that has begun may think for a while
				lull = 3 * t.a.opts.Timeouts.Quiet
				quiet.Set(lull)
			}
		case <-quiet.C: // an endpoint that cannot be reached looks like this, long before the watchdog
			t.tellOfSilence(lull)
		case <-t.live.conn.gone: // whatever it said before is in the inbox by now
			t.takeAll(ctx)
			if !t.answered {
				return fmt.Errorf("%w: %w", errCrash, errGone)
			}
			return t.outcome()
		case <-done:
			done = nil
			t.cancel()
		case <-watch.C:
			// Messages that mean nothing to us are signs of life, too.
			if now := t.live.conn.heard.Load(); now != heard {
				heard = now
			} else {
				t.giveUp(silence(t.patience()))
			}
			watch.Set(t.patience())
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

// close shuts the inbox. Mail whose fate is not known is said again: twice is
// better than never.
func (t *talk) close() {
	for _, n := range t.live.conn.in.shut() {
		if n.question != nil {
			t.live.conn.reply(n.question.id, cancelledOutcome())
		}
	}
	for steer, inputs := range t.steers {
		t.live.conn.forget(steer)
		t.later = append(t.later, inputs...)
	}
	if t.request != nil {
		t.live.conn.forget(t.request)
	}
}

// outcome is the program's answer as an error.
func (t *talk) outcome() error {
	var answer *rpcError
	if errors.As(t.request.err, &answer) {
		return answer
	}
	if t.request.err != nil {
		return fmt.Errorf("%w: %w", errCrash, t.request.err)
	}
	return nil
}

// silence is the error of a program that says nothing for too long. It is a
// failed model request: an endpoint that does not answer looks like this.
func silence(limit time.Duration) error {
	return &agent.APIError{
		Type:    "server_error",
		Message: fmt.Sprintf("the agent program has not said anything for %v; it was told to stop", limit),
	}
}

// patience is how long the program may be silent now.
func (t *talk) patience() time.Duration {
	if t.rec.busy() {
		return t.a.opts.Timeouts.Tool
	}
	return t.a.opts.Timeouts.Silence
}

// giveUp ends the prompt early because of err; the first reason counts.
func (t *talk) giveUp(err error) {
	if t.err == nil {
		t.err = err
	}
	t.cancel()
}

// cancel tells the program to stop, once, and bounds how long it may take. The
// program still answers the prompt, with "cancelled"; run waits for that until
// the deadline.
func (t *talk) cancel() {
	if t.stopping || t.answered {
		return
	}
	t.stopping = true
	t.live.conn.notify("session/cancel", map[string]any{"sessionId": t.live.session})
	t.deadline = time.After(t.a.opts.Timeouts.Cancel)
}

// takeAll takes in what waits. An error of one item gives the prompt up, but
// the rest is taken in all the same: a question among it needs its answer.
func (t *talk) takeAll(ctx context.Context) {
	for _, n := range t.live.conn.in.take() {
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
		case t.answered: // what comes behind the answer has come too late
		default:
			err = t.note(ctx, n.update)
		}
		if err != nil {
			t.giveUp(err)
		}
	}
}

// note takes in one update.
func (t *talk) note(ctx context.Context, raw json.RawMessage) error {
	if words := retryNotice(raw); words != "" {
		t.tellOfRetry(words)
		return nil
	}
	var u update
	if json.Unmarshal(raw, &u) != nil {
		// One field of an odd type: what is needed is taken by itself.
		u = update{Kind: text(fieldsOf(raw)["sessionUpdate"]), ToolCall: text(fieldsOf(raw)["toolCallId"])}
		lenient(fieldsOf(raw)["content"], &u.Content)
	}
	// Kinds that are not known fall through: new ones are invented all the time,
	// and guessing at them is how a summary becomes a message of the user.
	if t.live.meter.update(u) && t.a.opts.OnLive != nil {
		t.a.opts.OnLive(t.live.meter.soFar())
	}
	t.lively = t.lively || substantial(u.Kind)
	switch u.Kind {
	case "agent_message_chunk":
		t.touched = true
		var b block
		lenient(u.Content, &b)
		t.closing.say(b.words())
		return t.rec.say(b.words(), u.MessageID)
	case "session_info_update":
		t.closing.failed = t.closing.failed || systemError(u.Meta)
	case "tool_call", "tool_call_update":
		t.touched = true
		t.closing = closing{}
		if u.ToolCall != "" {
			return t.work(ctx, u.ToolCall, raw)
		}
	case "plan":
		t.plan(u.Entries)
	}
	return nil
}

// work takes in news of a tool call. Hooks look at a call after its result and
// before the result is recorded. A call that was only announced is nothing yet:
// some programs announce calls that they never make.
func (t *talk) work(ctx context.Context, id string, raw json.RawMessage) error {
	c := t.rec.call(id)
	if c.over {
		return nil // it has its one result
	}
	c.merge(raw)
	if !c.begun() {
		return nil
	}
	if err := t.rec.begin(c); err != nil || !c.ended() {
		return err
	}
	// A denied call did not run, so there is nothing for hooks to look at.
	if c.denied == "" && t.sup != nil {
		for _, call := range t.rec.names.calls(c) {
			t.remark(t.sup.Report(ctx, call, c.result()))
		}
	}
	if err := t.rec.end(c); err != nil {
		return err
	}
	// The model is asked again after each call: the moment for mail, as it is
	// between the passes of the builtin agent.
	if t.post != nil && t.live.caps.steer && !t.stopping {
		t.tell(t.post.Mail(ctx))
	}
	return nil
}

// plan tells the journal what the program means to do.
func (t *talk) plan(entries []planEntry) {
	if t.eye == nil {
		return
	}
	p := agent.Planned{Entries: []agent.PlanEntry{}}
	for _, e := range entries {
		p.Entries = append(p.Entries, agent.PlanEntry{
			Text: e.Content, Status: e.Status, Priority: e.Priority,
		})
	}
	t.eye.Observe(p)
}

// remark takes in what hooks said beside a decision. A halt ends the turn at
// once. Feedback is told first: nothing can be handed in to a program that was
// told to stop.
func (t *talk) remark(r agent.Remarks) {
	t.tell(r.Feedback)
	if r.Halted != "" {
		t.halted = r.Halted
		t.cancel()
	}
}

// tell says inputs to the model: at once if the program can be spoken to in the
// middle of its work, else in a prompt of their own. What is handed in counts
// as said only when steered has its answer; until then close may still put it
// back.
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
	t.later = append(t.later, inputs...)
}

// steered takes in whether mail has reached the model.
func (t *talk) steered(answer *call) error {
	// promptRequired: there was no turn to hand it into any more. Everything else
	// that is no error means that the model will see it.
	inputs, ok := t.steers[answer]
	if !ok {
		return nil
	}
	delete(t.steers, answer)
	if answer.err != nil || text(fieldsOf(answer.result)["outcome"]) == "promptRequired" {
		var refused *rpcError
		if errors.As(answer.err, &refused) && refused.Code == codeNoMethod {
			t.live.caps.steer = false
		}
		t.later = append(t.later, inputs...)
		return nil
	}
	return t.rec.hear(inputs)
}

// textBlocks are inputs as blocks of a prompt.
func textBlocks(inputs []agent.Input) []json.RawMessage {
	blocks := []json.RawMessage{}
	for _, in := range inputs {
		blocks = append(blocks, textBlock(in.Text))
	}
	return blocks
}

// textBlock is text as a block of a prompt, the one kind that every program
// takes.
func textBlock(text string) json.RawMessage {
	raw, err := notation.Marshal(map[string]string{"type": "text", "text": text})
	if err != nil { // strings always encode
		return json.RawMessage(`{"type":"text","text":""}`)
	}
	return raw
}
