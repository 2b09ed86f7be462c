package program

import (
	"slices"

	"github.com/coveyteam/covey/teammate/agent"
)

// Recorder converts what a program prints during one prompt to transcript messages. The
// transcript is stricter than a program: it takes no message while a tool call of the previous
// one has no result, but programs make calls in parallel, and speak meanwhile. So the recorder
// drafts messages and records them as soon as the transcript allows.
type Recorder struct {
	Draft []agent.Block // of the next assistant message
	Last  string        // the last text
	Made  int           // tool calls
	// Whole is called when a draft may be recorded, before that; it returns false if more is to come.
	Whole func() bool

	host  agent.Host
	open  []string        // calls in the transcript without a result
	ready []answer        // to calls in Draft
	heard [][]agent.Input // inputs that the model got meanwhile
}

// answer is the result of a call.
type answer struct {
	id     string
	result agent.ToolResult
}

// NewRecorder returns the recorder of one prompt.
func NewRecorder(host agent.Host) Recorder { return Recorder{host: host} }

// Begin puts a call into the transcript.
func (r *Recorder) Begin(call agent.ToolCall) error {
	r.Made++
	r.Draft = append(r.Draft, agent.Block{Type: agent.ToolUseBlock, ID: call.ID, Name: call.Name, Input: call.Input})
	return r.Flush()
}

// End records the result of a call. The call's message may still wait for calls of the previous message.
func (r *Recorder) End(id string, result agent.ToolResult) error {
	if !slices.Contains(r.open, id) {
		r.ready = append(r.ready, answer{id, result})
		return nil
	}
	if err := r.answer(answer{id, result}); err != nil {
		return err
	}
	return r.Flush()
}

// answer records the result of an open call.
func (r *Recorder) answer(a answer) error {
	r.open = slices.DeleteFunc(r.open, func(id string) bool { return id == a.id })
	return r.host.Record(agent.Record{Message: agent.Message{Role: agent.User, Content: []agent.Block{{
		Type: agent.ToolResultBlock, ToolUseID: a.id, Content: a.result.Content, IsError: a.result.IsError,
	}}}})
}

// Hear records inputs that the model got while it worked.
func (r *Recorder) Hear(inputs []agent.Input) error {
	r.heard = append(r.heard, inputs)
	return r.Flush()
}

// Flush records what may be recorded now, which is nothing while a call is open.
func (r *Recorder) Flush() error {
	if len(r.open) > 0 || len(r.Draft)+len(r.heard) == 0 || !r.Whole() {
		return nil
	}
	return r.record(Spent{})
}

// record records the draft, then results that arrived before it, and then what was heard.
func (r *Recorder) record(spent Spent) error {
	if len(r.Draft) > 0 {
		m := agent.Message{Role: agent.Assistant, Content: r.Draft}
		r.Draft = nil
		if err := r.host.Record(agent.Record{Message: m, Usage: spent.Usage, Context: spent.Context}); err != nil {
			return err
		}
		for _, c := range m.ToolCalls() {
			r.open = append(r.open, c.ID)
		}
	}
	ready := r.ready
	r.ready = nil
	for _, a := range ready {
		if err := r.answer(a); err != nil {
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

// Abandon gives every open call a result and records what waited for it, which may open calls
// again; it ends because nothing new arrives.
func (r *Recorder) Abandon(resultOf func(id string) agent.ToolResult) error {
	for len(r.open) > 0 || len(r.ready) > 0 {
		for _, id := range slices.Clone(r.open) {
			if err := r.answer(answer{id, resultOf(id)}); err != nil {
				return err
			}
		}
		if err := r.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Finish closes the transcript: it records the last message, which carries what the prompt has
// spent. Of a completed prompt there is always one, even without text: it marks that the turn has
// reached its gates, and what it cost.
func (r *Recorder) Finish(spent Spent, completed bool) error {
	if completed && len(r.Draft) == 0 {
		silent := agent.Message{Role: agent.Assistant}
		return r.host.Record(agent.Record{Message: silent, Usage: spent.Usage, Context: spent.Context})
	}
	return r.record(spent)
}

// DropTrailingText drops the text after the last call.
func (r *Recorder) DropTrailingText() {
	for n := len(r.Draft); n > 0 && r.Draft[n-1].Type == agent.TextBlock; n-- {
		r.Draft = r.Draft[:n-1]
	}
}

// Busy reports whether a call is running.
func (r *Recorder) Busy() bool { return len(r.open) > 0 }
