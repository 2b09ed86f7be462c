package acp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// option is one answer that a program offers to its question.
type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// choose picks an option by its kind: once before always, for an answer that
// counts always would keep later calls from being asked about. Empty: none of
// the options says it.
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

// cancelledOutcome answers a question that nobody will decide any more.
func cancelledOutcome() any {
	return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}
}

// selectedOutcome answers a question with one of the options it offered; any
// other id is an error to most programs, and some end over it.
func selectedOutcome(id string) any {
	return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": id}}
}

// decide answers a question: the call is put before the Host as often as it
// names files, and only if all of it may run is it allowed. Every question gets
// exactly one answer, on every path: a program that waits for one can neither
// go on nor be cancelled. The error is the transcript's, and ends the prompt.
func (t *talk) decide(ctx context.Context, q *question) error {
	var in struct {
		ToolCall json.RawMessage `json:"toolCall"`
		Options  json.RawMessage `json:"options"`
	}
	lenient(q.params, &in)
	var options []option
	lenient(in.Options, &options)
	// A question without an id, or about a call that is over, stands for itself:
	// it is decided, but there is nothing in the transcript that it belongs to.
	id := text(fieldsOf(in.ToolCall)["toolCallId"])
	c, recorded := &toolCall{ID: id}, false
	if known := t.rec.call(id); id != "" && !known.over {
		c, recorded = known, true
	}
	c.mergeQuestion(in.ToolCall)
	t.touched = true
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
	if over || t.stopping || choice == "" { // after a cancel the protocol wants this answer
		t.live.conn.reply(q.id, cancelledOutcome())
	} else {
		t.live.conn.reply(q.id, selectedOutcome(choice))
	}
	if !p.Allow {
		c.denied = p.Reason
	}
	return nil
}

// permit asks the Host about every file of a call. over says that the program
// does not wait for the answer any more: it has ended, or its turn has. The
// first no ends the asking: hooks that would run for the other files could only
// have effects for a call that will not happen. A Host that cannot decide is a
// no, too.
func (t *talk) permit(ctx context.Context, c *toolCall) (p agent.Permission, over bool) {
	ctx, stop := t.whileAsked(ctx)
	defer stop()
	p.Reason = "This host cannot decide about tool calls of foreign programs."
	for _, call := range t.rec.names.calls(c) {
		if t.sup == nil {
			break
		}
		p = t.sup.Permit(ctx, call)
		t.remark(p.Remarks)
		if !p.Allow {
			break
		}
	}
	// No answer to a question has room for the reason, and some programs end
	// their turn over a no: the model is told with the next prompt.
	if !p.Allow && p.Reason != "" && ctx.Err() == nil {
		t.a.prompts.Hold(agent.Input{
			Kind: agent.FromCovey, Text: "A tool call of yours was not allowed. " + p.Reason,
		})
	}
	return p, ctx.Err() != nil
}

// whileAsked is ctx for as long as the program waits for an answer. A person
// may take an hour to answer. The context ends when the question is pointless,
// so that a prompt in their terminal does not outlive its call. stop must be
// called; it waits for the watcher.
func (t *talk) whileAsked(ctx context.Context) (asked context.Context, stop func()) {
	asked, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-t.request.done:
		case <-t.live.conn.gone:
		case <-t.live.proc.ended: // its last words may be more than there is room for
		case <-asked.Done():
		}
		cancel()
	})
	return asked, func() {
		cancel()
		watching.Wait()
	}
}
