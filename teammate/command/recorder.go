package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

const (
	// maxResult bounds a tool's result in the transcript, in bytes: hooks and
	// people read it, no model does.
	maxResult = 100_000
	// maxInput bounds a tool's input there, and what hooks get of it.
	maxInput = 4 << 20
	// maxWaiting bounds what waits for the result of a call, in bytes.
	maxWaiting = 16 << 20
)

// recorder makes transcript messages of what a program tells. The transcript is
// stricter than the program: a message stands still while a tool call of the
// one before it waits for its result, and programs make calls side by side. So
// what comes is drafted, and recorded as soon as it may be. Text waits for what
// follows it: a message without calls says that the program has fallen silent,
// and a covey that crashed then would only ask the gates.
type recorder struct {
	host  agent.Host
	limit int // of text, in bytes

	calls   map[string]*state
	draft   []agent.Block // of the next assistant message
	waiting int           // bytes in draft
	open    []string      // calls in the transcript without a result
	ready   []*state      // calls in draft that have their result already
	last    string        // the last text
	said    int           // bytes of text so far
	left    int64         // bytes of text that were left out
	made    int           // tool calls
}

// state is how far a call is.
type state struct {
	id     string
	calls  []agent.ToolCall
	result agent.ToolResult
	over   bool
}

// newRecorder records one run of a program; limit bounds the bytes of text that
// it takes, for the transcript is read by every later prompt and hook.
func newRecorder(host agent.Host, limit int) *recorder {
	return &recorder{host: host, limit: limit, calls: map[string]*state{}}
}

// say adds a block of text.
func (r *recorder) say(words string) {
	words = strings.TrimRight(clean(words), " \t\r\n")
	if keep := min(len(words), max(r.limit-r.said, 0)); keep < len(words) {
		r.left += int64(len(words) - keep)
		words = strings.ToValidUTF8(words[:keep], "")
	}
	if strings.TrimSpace(words) == "" {
		return
	}
	r.said += len(words)
	r.draft = append(r.draft, agent.Block{Type: agent.TextBlock, Text: words})
	r.waiting += len(words)
	r.last = strings.TrimSpace(words)
}

// begin puts a call into the transcript, once.
func (r *recorder) begin(c *call) error {
	if r.calls[c.id] != nil || len(c.calls) == 0 {
		return nil
	}
	for i, one := range c.calls {
		if len(one.Input) > maxInput {
			c.calls[i].Input = shortInput(one)
		}
	}
	r.calls[c.id] = &state{id: c.id, calls: c.calls}
	r.made++
	// A call of several files stands there once, under the first of them; hooks
	// and rules see each.
	first := c.calls[0]
	r.draft = append(r.draft, agent.Block{
		Type: agent.ToolUseBlock, ID: c.id, Name: first.Name, Input: first.Input,
	})
	r.waiting += len(first.Input)
	if r.waiting > maxWaiting { // a call that never ends must not hold up all others
		return r.abandon("no result came while the program went on")
	}
	return r.flush()
}

// shortInput is an input that is too long to be kept: what rules look at.
func shortInput(call agent.ToolCall) []byte {
	short := map[string]string{"left_out": fmt.Sprintf("%d bytes of input", len(call.Input))}
	fields := fieldsOf(call.Input)
	for _, name := range []string{"file_path", "command", "url", "path", "query"} {
		if value := text(fields[name]); value != "" {
			short[name] = value[:min(len(value), maxResult)]
		}
	}
	return notation.Encode(short)
}

// running is a call that has begun and has no result; nil: there is none.
func (r *recorder) running(id string) *state {
	if s := r.calls[id]; s != nil && !s.over {
		return s
	}
	return nil
}

// end gives a call its result.
func (r *recorder) end(s *state) error {
	s.over = true
	s.calls = nil
	// Its message may still wait for calls of the one before it.
	if !slices.Contains(r.open, s.id) {
		r.ready = append(r.ready, s)
		return nil
	}
	if err := r.answer(s); err != nil {
		return err
	}
	return r.flush()
}

// answer records the result of an open call.
func (r *recorder) answer(s *state) error {
	r.open = slices.DeleteFunc(r.open, func(id string) bool { return id == s.id })
	m := agent.Message{Role: agent.User, Content: []agent.Block{{
		Type: agent.ToolResultBlock, ToolUseID: s.id, Content: s.result.Content, IsError: s.result.IsError,
	}}}
	s.result = agent.ToolResult{}
	return r.host.Record(agent.Record{Message: m})
}

// flush records the draft if it may be recorded now: not while a call is open,
// and not text alone.
func (r *recorder) flush() error {
	call := func(b agent.Block) bool { return b.Type == agent.ToolUseBlock }
	if len(r.open) > 0 || !slices.ContainsFunc(r.draft, call) {
		return nil
	}
	return r.settle(agent.Usage{})
}

// settle records the draft, then the results that were there before it was.
func (r *recorder) settle(usage agent.Usage) error {
	if len(r.draft) == 0 {
		return nil
	}
	m := agent.Message{Role: agent.Assistant, Content: r.draft}
	r.draft, r.waiting = nil, 0
	if err := r.host.Record(agent.Record{Message: m, Usage: usage}); err != nil {
		return err
	}
	for _, c := range m.ToolCalls() {
		r.open = append(r.open, c.ID)
	}
	ready := r.ready
	r.ready = nil
	for _, s := range ready {
		if err := r.answer(s); err != nil {
			return err
		}
	}
	return nil
}

// finish closes the transcript of a prompt that came to its end: calls that
// have no result get one, and the program's last words carry usage. There is
// always such a message: it says that the turn has come to its gates, and what
// it cost.
func (r *recorder) finish(usage agent.Usage) error {
	if err := r.abandon("no result came"); err != nil {
		return fmt.Errorf("command: open calls: %w", err)
	}
	r.notice()
	if len(r.draft) == 0 {
		silent := agent.Message{Role: agent.Assistant}
		return r.host.Record(agent.Record{Message: silent, Usage: usage})
	}
	return r.settle(usage)
}

// hush forgets the text that waits behind the last call.
func (r *recorder) hush() {
	for n := len(r.draft); n > 0 && r.draft[n-1].Type == agent.TextBlock; n-- {
		r.draft = r.draft[:n-1]
	}
	r.left = 0
}

// breakOff closes the transcript of a prompt that did not come to its end.
func (r *recorder) breakOff(why string, usage agent.Usage) error {
	if err := r.abandon(why); err != nil {
		return fmt.Errorf("command: open calls: %w", err)
	}
	r.notice()
	return r.settle(usage)
}

// notice says what was left out.
func (r *recorder) notice() {
	if r.left > 0 {
		text := fmt.Sprintf("[%d more bytes of output were left out]", r.left)
		r.left = 0
		r.draft = append(r.draft, agent.Block{Type: agent.TextBlock, Text: text})
		r.last += "\n\n" + text
	}
}

// abandon gives every call that is still open a result, and records what waited
// behind it, which may open calls again; it ends because nothing new comes in
// meanwhile. A text that ends the draft goes on waiting.
func (r *recorder) abandon(why string) error {
	for {
		if err := r.flush(); err != nil {
			return err
		}
		if len(r.open) == 0 {
			return nil
		}
		for _, id := range slices.Clone(r.open) {
			s := r.calls[id]
			s.over, s.result = true, agent.ToolResult{Content: why, IsError: true}
			if err := r.answer(s); err != nil {
				return err
			}
		}
	}
}

// busy reports whether a call is under way.
func (r *recorder) busy() bool { return len(r.open) > 0 }

// shorten takes the middle out of a text that is too long.
func shorten(text string) string {
	if len(text) <= maxResult {
		return text
	}
	half := maxResult / 2
	return strings.ToValidUTF8(fmt.Sprintf("%s\n\n... [%d bytes left out] ...\n\n%s",
		text[:half], len(text)-2*half, text[len(text)-half:]), "\uFFFD")
}
