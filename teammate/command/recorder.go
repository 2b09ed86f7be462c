package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

const (
	// maxInput limits a tool's input in the transcript and for hooks, in bytes.
	maxInput = 4 << 20
	// maxWaiting limits what waits for the result of a call, in bytes.
	maxWaiting = 16 << 20
)

// recorder converts a program's output to transcript messages. Text waits for what follows it: a
// message without calls means that the turn has reached its gates, and after a crash covey would
// ask only those.
type recorder struct {
	program.Recorder
	limit int // of text, in bytes

	calls map[string]*state
	said  int   // bytes of text so far
	left  int64 // bytes of text that were omitted
}

// state is the state of a call.
type state struct {
	id    string
	calls []agent.ToolCall
	over  bool
}

// newRecorder returns the recorder of one run. limit is the maximum of its text in bytes,
// because every later prompt and hook reads the transcript.
func newRecorder(host agent.Host, limit int) *recorder {
	r := &recorder{Recorder: program.NewRecorder(host), limit: limit, calls: map[string]*state{}}
	r.Whole = func() bool {
		return slices.ContainsFunc(r.Draft, func(b agent.Block) bool { return b.Type == agent.ToolUseBlock })
	}
	return r
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
	r.Draft = append(r.Draft, agent.Block{Type: agent.TextBlock, Text: words})
	r.Last = strings.TrimSpace(words)
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
	// A call that never ends must not hold back all others.
	if r.waiting()+len(c.calls[0].Input) > maxWaiting {
		if err := r.abandon("no result came while the program went on"); err != nil {
			return err
		}
	}
	// A call of several files is recorded once, with the first file; hooks and rules see
	// each.
	first := c.calls[0]
	first.ID = c.id
	return r.Begin(first)
}

// waiting returns how many bytes wait in the draft.
func (r *recorder) waiting() (size int) {
	for _, b := range r.Draft {
		size += len(b.Text) + len(b.Input)
	}
	return size
}

// shortInput returns the fields of a long input that rules check.
func shortInput(call agent.ToolCall) []byte {
	short := map[string]string{"left_out": fmt.Sprintf("%d bytes of input", len(call.Input))}
	fields := program.Fields(call.Input)
	for _, name := range []string{"file_path", "command", "url", "path", "query"} {
		if value := texts.Text(fields[name]); value != "" {
			short[name] = value[:min(len(value), program.MaxResult)]
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
func (r *recorder) end(s *state, result agent.ToolResult) error {
	s.over = true
	s.calls = nil
	return r.End(s.id, result)
}

// abandon gives every open call a result.
func (r *recorder) abandon(why string) error {
	err := r.Abandon(func(id string) agent.ToolResult {
		r.calls[id].over = true
		return agent.ToolResult{Content: why, IsError: true}
	})
	if err != nil {
		return fmt.Errorf("command: open calls: %w", err)
	}
	return nil
}

// finish closes the transcript of a prompt. why is the result of calls without an end.
func (r *recorder) finish(why string, spent program.Spent, completed bool) error {
	if err := r.abandon(why); err != nil {
		return err
	}
	if r.left > 0 {
		text := fmt.Sprintf("[%d more bytes of output were left out]", r.left)
		r.left = 0
		r.Draft = append(r.Draft, agent.Block{Type: agent.TextBlock, Text: text})
		r.Last += "\n\n" + text
	}
	return r.Finish(spent, completed)
}
