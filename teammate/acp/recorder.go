package acp

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// recorder makes transcript messages of what a program streams. The transcript
// is stricter than the stream: a message stands still while a tool call of the
// one before it waits for its result, and programs make calls side by side and
// talk meanwhile. So what comes is drafted, and recorded as soon as it may be.
type recorder struct {
	host  agent.Host
	names naming

	calls  map[string]*toolCall
	draft  []agent.Block   // of the next assistant message
	said   strings.Builder // text that is still being streamed, behind draft
	saidID string          // the message it belongs to
	open   []string        // calls in the transcript without a result
	ready  []*toolCall     // calls in draft that have their result already
	heard  [][]agent.Input // what the model was told meanwhile
	last   string          // the last text that was not empty
	made   int             // tool calls
}

// newRecorder returns the recorder of one prompt; calls of earlier prompts are
// not known to it.
func newRecorder(host agent.Host, names naming) *recorder {
	return &recorder{host: host, names: names, calls: map[string]*toolCall{}}
}

// call is the call of that id; a new one if it was never mentioned.
func (r *recorder) call(id string) *toolCall {
	c, ok := r.calls[id]
	if !ok {
		c = &toolCall{ID: id}
		r.calls[id] = c
	}
	return c
}

// say adds a piece of text of a message. A new id begins a new message.
// Programs that give no ids have all text between two calls as one message.
func (r *recorder) say(piece, id string) error {
	if id != r.saidID && r.said.Len() > 0 {
		r.speak()
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.saidID = id
	r.said.WriteString(piece)
	return nil
}

// speak puts streamed text into the draft.
func (r *recorder) speak() {
	text := strings.ToValidUTF8(r.said.String(), "\uFFFD")
	r.said.Reset()
	if strings.TrimSpace(text) == "" {
		return
	}
	r.draft = append(r.draft, agent.Block{Type: agent.TextBlock, Text: text})
	r.last = strings.TrimSpace(text)
}

// begin puts a call into the transcript, once. The name and the input are those
// of this moment: the transcript is not changed when a later update tells more.
func (r *recorder) begin(c *toolCall) error {
	if c.named != nil {
		return nil
	}
	// A call of several files stands there once, under the first of them; hooks
	// and rules have seen each.
	named := r.names.calls(c)[0]
	c.named = &named
	r.made++
	r.speak()
	r.draft = append(r.draft, agent.Block{
		Type: agent.ToolUseBlock, ID: c.ID, Name: named.Name, Input: named.Input,
	})
	return r.flush()
}

// end gives a call its result, once.
func (r *recorder) end(c *toolCall) error {
	if c.over {
		return nil
	}
	if err := r.begin(c); err != nil {
		return err
	}
	c.over = true
	// Its message may still wait for calls of the one before it.
	if !slices.Contains(r.open, c.ID) {
		r.ready = append(r.ready, c)
		return nil
	}
	if err := r.answer(c); err != nil {
		return err
	}
	return r.flush()
}

// answer records the result of an open call.
func (r *recorder) answer(c *toolCall) error {
	result := c.result()
	r.open = slices.DeleteFunc(r.open, func(id string) bool { return id == c.ID })
	m := agent.Message{Role: agent.User, Content: []agent.Block{{
		Type: agent.ToolResultBlock, ToolUseID: c.ID, Content: result.Content, IsError: result.IsError,
	}}}
	return r.host.Record(agent.Record{Message: m})
}

// hear records what the model was told while it worked.
func (r *recorder) hear(inputs []agent.Input) error {
	r.heard = append(r.heard, inputs)
	return r.flush()
}

// flush records what may be recorded now: nothing while a call is open.
func (r *recorder) flush() error {
	if len(r.open) > 0 {
		return nil
	}
	if len(r.draft) > 0 || len(r.heard) > 0 {
		r.speak()
	}
	return r.settle(agent.Usage{})
}

// settle records the draft, then the results that were there before it was, and
// what was heard.
func (r *recorder) settle(usage agent.Usage) error {
	if len(r.draft) > 0 {
		m := agent.Message{Role: agent.Assistant, Content: r.draft}
		r.draft = nil
		if err := r.host.Record(agent.Record{Message: m, Usage: usage}); err != nil {
			return err
		}
		for _, c := range m.ToolCalls() {
			r.open = append(r.open, c.ID)
		}
	}
	ready := r.ready
	r.ready = nil
	for _, c := range ready {
		if err := r.answer(c); err != nil {
			return err
		}
	}
	for len(r.open) == 0 && len(r.heard) > 0 {
		inputs := r.heard[0]
		r.heard = r.heard[1:]
		if err := r.host.Record(agent.PromptRecord(inputs)); err != nil {
			return err
		}
	}
	return nil
}

// finish closes the transcript of a prompt: calls that never came to an end get
// a result, and the program's last words carry usage. There is always such a
// message: it says that the turn has come to its gates, and what it cost.
func (r *recorder) finish(usage agent.Usage) error {
	if err := r.abandon("no result came"); err != nil {
		return err
	}
	r.speak()
	if len(r.draft) == 0 {
		silent := agent.Message{Role: agent.Assistant}
		return r.host.Record(agent.Record{Message: silent, Usage: usage})
	}
	return r.settle(usage)
}

// hush forgets the words that wait behind the last call.
func (r *recorder) hush() {
	r.said.Reset()
	for n := len(r.draft); n > 0 && r.draft[n-1].Type == agent.TextBlock; n-- {
		r.draft = r.draft[:n-1]
	}
}

// abandon gives every call that is still open a result. Each round closes what
// is open and records what waited behind it, which may open calls again; it
// ends because nothing new comes in meanwhile.
func (r *recorder) abandon(why string) error {
	for len(r.open) > 0 || len(r.ready) > 0 {
		for _, id := range slices.Clone(r.open) {
			c := r.calls[id]
			if c.denied == "" { // what it shows so far may be no more than what it was to do
				c.Content = append(c.Content, content{Type: "content", Content: block{Type: "text", Text: why}})
			}
			c.over = true
			if err := r.answer(c); err != nil {
				return err
			}
		}
		if err := r.flush(); err != nil {
			return err
		}
	}
	return nil
}

// busy reports whether a call is under way.
func (r *recorder) busy() bool { return len(r.open) > 0 }
