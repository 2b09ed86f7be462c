package acp

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// recorder converts a program's stream to transcript messages. The transcript is stricter
// than the stream: it takes no message while a tool call of the previous one has no result,
// but programs make calls in parallel and send text meanwhile. So the recorder drafts
// messages and records them as soon as the transcript allows.
type recorder struct {
	host  agent.Host
	shown agent.Draft // takes the text as it arrives
	names naming

	calls  map[string]*toolCall
	draft  []agent.Block   // of the next assistant message
	said   strings.Builder // text being streamed, after draft
	saidID string          // the id of its message
	open   []string        // calls in the transcript without a result
	ready  []*toolCall     // calls in draft that already have a result
	heard  [][]agent.Input // inputs that the model got meanwhile
	last   string          // the last non-empty text
	made   int             // tool calls
}

// newRecorder returns the recorder of one prompt. It does not know calls of earlier
// prompts.
func newRecorder(host agent.Host, names naming) *recorder {
	return &recorder{host: host, shown: agent.DraftOf(host), names: names, calls: map[string]*toolCall{}}
}

// call returns the call with the given id, which is new if the id is unknown.
func (r *recorder) call(id string) *toolCall {
	c, ok := r.calls[id]
	if !ok {
		c = &toolCall{ID: id}
		r.calls[id] = c
	}
	return c
}

// say adds a piece of text. A new id begins a new message. Without ids all text between
// two calls is one message.
func (r *recorder) say(piece, id string) error {
	if id != r.saidID && r.said.Len() > 0 {
		r.speak()
		if err := r.flush(); err != nil {
			return err
		}
		r.shown.Add("\n") // if the message before waits for the end of a call
	}
	r.saidID = id
	r.said.WriteString(piece)
	r.shown.Add(piece)
	return nil
}

// speak moves streamed text to the draft.
func (r *recorder) speak() {
	text := strings.ToValidUTF8(r.said.String(), "\uFFFD")
	r.said.Reset()
	if strings.TrimSpace(text) == "" {
		return
	}
	r.draft = append(r.draft, agent.Block{Type: agent.TextBlock, Text: text})
	r.last = strings.TrimSpace(text)
}

// begin puts a call into the transcript, once. Its name and input stay as they are now,
// even if a later update changes them.
func (r *recorder) begin(c *toolCall) error {
	if c.named != nil {
		return nil
	}
	// A call of several files is recorded once, with the first file; hooks and rules have
	// seen each.
	named := r.names.calls(c)[0]
	c.named = &named
	r.made++
	r.speak()
	r.draft = append(r.draft, agent.Block{
		Type: agent.ToolUseBlock, ID: c.ID, Name: named.Name, Input: named.Input,
	})
	return r.flush()
}

// end records the result of a call, once.
func (r *recorder) end(c *toolCall) error {
	if c.over {
		return nil
	}
	if err := r.begin(c); err != nil {
		return err
	}
	c.over = true
	// Its message may still wait for calls of the previous message.
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

// hear records inputs that the model got while it worked.
func (r *recorder) hear(inputs []agent.Input) error {
	r.heard = append(r.heard, inputs)
	return r.flush()
}

// flush records what may be recorded now, which is nothing while a call is open.
func (r *recorder) flush() error {
	if len(r.open) > 0 {
		return nil
	}
	if len(r.draft) > 0 || len(r.heard) > 0 {
		r.speak()
	}
	return r.recordDraft(Spent{})
}

// recordDraft records the draft, then results that arrived before it, and then what was
// heard.
func (r *recorder) recordDraft(spent Spent) error {
	if len(r.draft) > 0 {
		m := agent.Message{Role: agent.Assistant, Content: r.draft}
		r.draft = nil
		if err := r.host.Record(agent.Record{Message: m, Usage: spent.Usage, Context: spent.Context}); err != nil {
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

// finish closes the transcript of a prompt: calls without an end get a result, and the
// program's last text carries what the prompt has used. There is always such a message: it marks
// that the turn has reached its gates, and what it cost.
func (r *recorder) finish(spent Spent) error {
	if err := r.abandon("no result came"); err != nil {
		return err
	}
	r.speak()
	if len(r.draft) == 0 {
		silent := agent.Message{Role: agent.Assistant}
		return r.host.Record(agent.Record{Message: silent, Usage: spent.Usage, Context: spent.Context})
	}
	return r.recordDraft(spent)
}

// dropTrailingText drops the text after the last call.
func (r *recorder) dropTrailingText() {
	r.said.Reset()
	r.shown.Withdraw()
	for n := len(r.draft); n > 0 && r.draft[n-1].Type == agent.TextBlock; n-- {
		r.draft = r.draft[:n-1]
	}
}

// abandon gives every open call a result. Each round closes the open calls and records what
// waited for them, which may open calls again; it ends because nothing new arrives.
func (r *recorder) abandon(why string) error {
	for len(r.open) > 0 || len(r.ready) > 0 {
		for _, id := range slices.Clone(r.open) {
			c := r.calls[id]
			if c.denied == "" { // its content so far may only describe the call
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

// busy reports whether a call is running.
func (r *recorder) busy() bool { return len(r.open) > 0 }
