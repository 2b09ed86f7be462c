package acp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// option is one of the answers that a program offers with a question.
type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// choose returns the id of an option of the wanted kind, or "". It prefers "once" to
// "always", because after an "always" the program does not ask about later calls.
func choose(options []option, allow bool) string {
	kinds := []string{"reject_once", "reject_always"}
	if allow {
		kinds = []string{"allow_once", "allow_always"}
	}
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == kind {
				return o.ID
			}
		}
	}
	return ""
}

// cancelledOutcome answers a question that nobody will decide.
func cancelledOutcome() any {
	return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}
}

// selectedOutcome answers a question with one of its options. For most programs any other
// id is an error, and some end because of it.
func selectedOutcome(id string) any {
	return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": id}}
}

// decide answers a question. It asks the Host once for each file of the call, and allows
// the call only if all of them are allowed. Every question gets exactly one answer on
// every path: a program that waits for one can neither continue nor be cancelled. The
// error is the transcript's, and ends the prompt.
func (t *talk) decide(ctx context.Context, q *question) error {
	var in struct {
		ToolCall json.RawMessage `json:"toolCall"`
		Options  json.RawMessage `json:"options"`
	}
	program.Lenient(q.params, &in)
	var options []option
	program.Lenient(in.Options, &options)
	// A question without an id, or about a finished call, is decided on its own, without
	// a call in the transcript.
	id := texts.Text(program.Fields(in.ToolCall)["toolCallId"])
	c, recorded := &toolCall{ID: id}, false
	if known := t.rec.call(id); id != "" && !known.over {
		c, recorded = known, true
	}
	c.mergeQuestion(in.ToolCall)
	t.Touched = true
	if recorded && !t.answered {
		if err := t.rec.begin(c); err != nil {
			t.live.conn.reply(q.id, cancelledOutcome())
			return err
		}
	}
	if t.answered || t.stopping || ctx.Err() != nil {
		t.live.conn.reply(q.id, cancelledOutcome())
		return nil
	}
	p, over := t.permit(ctx, c)
	choice := choose(options, p.Allow)
	if over || t.stopping || choice == "" { // after a cancel the protocol requires this answer
		t.live.conn.reply(q.id, cancelledOutcome())
	} else {
		t.live.conn.reply(q.id, selectedOutcome(choice))
	}
	if !p.Allow {
		c.denied = p.Reason
	}
	return nil
}

// permit asks the Host about every file of a call. over reports that the program no longer
// waits for the answer, because it has ended or its turn has. Asking ends with the first
// denial: hooks for the other files could only have side effects for a call that will not
// run. A Host that is no Supervisor denies the call.
func (t *talk) permit(ctx context.Context, c *toolCall) (p agent.Permission, over bool) {
	ctx, stop := t.whileAsked(ctx)
	defer stop()
	p.Reason = "This host cannot decide about tool calls of foreign programs."
	for _, call := range t.rec.names.calls(c) {
		if t.Sup == nil {
			break
		}
		p = t.Sup.Permit(ctx, call)
		t.applyRemarks(p.Remarks)
		if !p.Allow {
			break
		}
	}
	// An answer to a question has no room for the reason, and some programs end their turn
	// after a denial: the model gets the reason with the next prompt.
	if !p.Allow && p.Reason != "" && ctx.Err() == nil {
		t.a.Hold(agent.Input{
			Kind: agent.FromCovey, Text: "A tool call of yours was not allowed. " + p.Reason,
		})
	}
	return p, ctx.Err() != nil
}

// whileAsked returns a context that ends when the program no longer waits for the answer,
// so that a prompt in a person's terminal does not outlive its call. A person may take an
// hour to answer. The caller must call stop, which waits for the watcher.
func (t *talk) whileAsked(ctx context.Context) (asked context.Context, stop func()) {
	asked, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-t.request.done:
		case <-t.live.conn.gone:
		case <-t.live.proc.Ended: // gone may be late while the inbox is full
		case <-asked.Done():
		}
		cancel()
	})
	return asked, func() {
		cancel()
		watching.Wait()
	}
}
