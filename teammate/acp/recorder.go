package acp

import (
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// recorder converts a program's stream to transcript messages.
type recorder struct {
	program.Recorder
	shown agent.Draft // takes the text as it arrives
	names naming

	calls  map[string]*toolCall
	said   strings.Builder // text being streamed, after the draft
	saidID string          // the id of its message
}

// newRecorder returns the recorder of one prompt. It does not know calls of earlier
// prompts.
func newRecorder(host agent.Host, names naming) *recorder {
	r := &recorder{
		Recorder: program.NewRecorder(host), shown: agent.DraftOf(host), names: names, calls: map[string]*toolCall{},
	}
	r.Whole = func() bool {
		r.speak()
		return true
	}
	return r
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
		if err := r.Flush(); err != nil {
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
	r.Draft = append(r.Draft, agent.Block{Type: agent.TextBlock, Text: text})
	r.Last = strings.TrimSpace(text)
}

// begin puts a call into the transcript, once. Its name and input stay as they are now,
// even if a later update changes them.
func (r *recorder) begin(c *toolCall) error {
	if c.recorded {
		return nil
	}
	c.recorded = true
	r.speak()
	// A call of several files is recorded once, with the first file; hooks and rules have
	// seen each.
	return r.Begin(r.names.calls(c)[0])
}

// end records the result of a call that was begun.
func (r *recorder) end(c *toolCall) error {
	c.over = true
	return r.End(c.ID, c.result())
}

// finish closes the transcript of a prompt. why is the result of calls without an end.
func (r *recorder) finish(why string, spent program.Spent, completed bool) error {
	err := r.Abandon(func(id string) agent.ToolResult {
		c := r.calls[id]
		if c.denied == "" { // its content so far may only describe the call
			c.Content = append(c.Content, content{Type: "content", Content: block{Type: "text", Text: why}})
		}
		c.over = true
		return c.result()
	})
	if err != nil {
		return err
	}
	r.speak()
	return r.Finish(spent, completed)
}

// dropTrailingText drops the text after the last call.
func (r *recorder) dropTrailingText() {
	r.said.Reset()
	r.shown.Withdraw()
	r.DropTrailingText()
}
