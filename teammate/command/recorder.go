package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

const (
	// maxResult limits a tool's result in the transcript, in bytes: only hooks and people
	// read it.
	maxResult = 100_000
	// maxInput limits a tool's input in the transcript and for hooks, in bytes.
	maxInput = 4 << 20
	// maxWaiting limits what waits for the result of a call, in bytes.
	maxWaiting = 16 << 20
)

// recorder converts a program's output to transcript messages. The transcript is stricter
// than the output: it takes no message while a tool call of the previous one has no result,
// but programs make calls in parallel. So the recorder drafts messages and records them as
// soon as the transcript allows. Text waits for what follows it: a message without calls
// means that the turn has reached its gates, and after a crash covey would ask only those.
type recorder struct {
	host  agent.Host
	limit int // of text, in bytes

	calls   map[string]*state
	draft   []agent.Block // of the next assistant message
	waiting int           // bytes in draft
	open    []string      // calls in the transcript without a result
	ready   []*state      // calls in draft that already have a result
	last    string        // the last text
	said    int           // bytes of text so far
	left    int64         // bytes of text that were omitted
	made    int           // tool calls
}

// state is the state of a call.
type state struct {
	id     string
	calls  []agent.ToolCall
	result agent.ToolResult
	over   bool
}

// newRecorder returns the recorder of one run. limit is the maximum of its text in bytes,
// because every later prompt and hook reads the transcript.
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
	// A call of several files is recorded once, with the first file; hooks and rules see
	// each.
	first := c.calls[0]
	r.draft = append(r.draft, agent.Block{
		Type: agent.ToolUseBlock, ID: c.id, Name: first.Name, Input: first.Input,
	})
	r.waiting += len(first.Input)
	if r.waiting > maxWaiting { // a call that never ends must not hold back all others
		return r.abandon("no result came while the program went on")
	}
	return r.flush()
}

// shortInput returns the fields of a long input that rules check.
func shortInput(call agent.ToolCall) []byte {
	short := map[string]string{"left_out": fmt.Sprintf("%d bytes of input", len(call.Input))}
	fields := fieldsOf(call.Input)
	for _, name := range []string{"file_path", "command", "url", "path", "query"} {
		if value := text(fields[name]); value != "" {
			short[name] = value[:min(len(value), maxResult)]
		}
	}
	return texts.Encode(short)
}

// running returns the state of an unfinished call, or nil.
func (r *recorder) running(id string) *state {
	if s := r.calls[id]; s != nil && !s.over {
		return s
	}
	return nil
}

// end records the result of a call.
func (r *recorder) end(s *state) error {
	s.over = true
	s.calls = nil
	// Its message may still wait for calls of the previous message.
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

// flush records the draft if that is allowed now: no call is open, and the draft is not only
// text.
func (r *recorder) flush() error {
	call := func(b agent.Block) bool { return b.Type == agent.ToolUseBlock }
	if len(r.open) > 0 || !slices.ContainsFunc(r.draft, call) {
		return nil
	}
	return r.recordDraft(agent.Usage{})
}

// recordDraft records the draft and then the results that arrived before it.
func (r *recorder) recordDraft(usage agent.Usage) error {
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

// finish closes the transcript of a completed prompt: calls without a result get one, and the
// program's last text carries usage. There is always such a message: it marks that the turn
// has reached its gates, and what it cost.
func (r *recorder) finish(usage agent.Usage) error {
	if err := r.abandon("no result came"); err != nil {
		return fmt.Errorf("command: open calls: %w", err)
	}
	r.notice()
	if len(r.draft) == 0 {
		silent := agent.Message{Role: agent.Assistant}
		return r.host.Record(agent.Record{Message: silent, Usage: usage})
	}
	return r.recordDraft(usage)
}

// dropTrailingText drops the text after the last call.
func (r *recorder) dropTrailingText() {
	for n := len(r.draft); n > 0 && r.draft[n-1].Type == agent.TextBlock; n-- {
		r.draft = r.draft[:n-1]
	}
	r.left = 0
}

// breakOff closes the transcript of a prompt that did not complete.
func (r *recorder) breakOff(why string, usage agent.Usage) error {
	if err := r.abandon(why); err != nil {
		return fmt.Errorf("command: open calls: %w", err)
	}
	r.notice()
	return r.recordDraft(usage)
}

// notice records how much was omitted.
func (r *recorder) notice() {
	if r.left > 0 {
		text := fmt.Sprintf("[%d more bytes of output were left out]", r.left)
		r.left = 0
		r.draft = append(r.draft, agent.Block{Type: agent.TextBlock, Text: text})
		r.last += "\n\n" + text
	}
}

// abandon gives every open call a result and records what waited for it, which may open calls
// again; it ends because nothing new arrives. Text at the end of the draft still waits.
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

// busy reports whether a call is running.
func (r *recorder) busy() bool { return len(r.open) > 0 }

// shorten removes the middle of a text that is too long.
func shorten(text string) string {
	if len(text) <= maxResult {
		return text
	}
	half := maxResult / 2
	return strings.ToValidUTF8(fmt.Sprintf("%s\n\n... [%d bytes left out] ...\n\n%s",
		text[:half], len(text)-2*half, text[len(text)-half:]), "\uFFFD")
}
