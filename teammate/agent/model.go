package agent

import "context"

// Model answers the builtin agent: a model API, or a script.
//
// Generate answers one request. It fails with an *APIError when the model
// cannot answer, and with ctx's error when ctx ends first. A model that is read piece by
// piece adds the text of its answer to req.Draft, and withdraws it when a try fails.
type Model interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// Described is a Model that says what it is.
type Described interface {
	// Describe returns the provider and name of the model, and how many tokens of a
	// conversation it can read; 0: unknown.
	Describe() (name string, window int64)
}

// Raiser is a Model whose limit of output tokens can be raised.
type Raiser interface {
	// Raise returns the model with a higher limit, which its host may refuse; ok is false if there
	// is none.
	Raise() (raised Model, ok bool)
}

// Describe returns what a model says of itself; nothing if it does not.
func Describe(m Model) (name string, window int64) {
	if d, ok := m.(Described); ok {
		return d.Describe()
	}
	return "", 0
}

// ContextUse is how much of what a model can read a conversation takes, in tokens. The zero value
// means that nobody has said so.
type ContextUse struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
}

// Percent returns the part of the window that is used; ok is false if that is unknown.
func (c ContextUse) Percent() (part int64, ok bool) {
	if c.Window <= 0 {
		return 0, false
	}
	return 100 * max(c.Tokens, 0) / c.Window, true
}

// Request is one model request: the whole conversation so far.
type Request struct {
	System   string
	Messages []Message
	// New is the index of the first message that was in no earlier request of this
	// conversation. The script model's `when` checks only new text.
	New   int
	Tools []Spec
	Draft Draft // takes the text while the model writes it; nil: nobody sees it
	// Say tells people what they should know of a request under way, from any goroutine; nil:
	// nobody hears it.
	Say func(text string)
}

// Response is a model's answer to one request.
type Response struct {
	Content []Block // text, thinking and tool_use blocks; empty: an empty answer
	Usage   Usage
	Step    *int // which script step served; nil for a real model
	// CutOff means that the answer ends where the limit of output tokens was reached. The last
	// block may be incomplete.
	CutOff bool
}

// Size returns the number of bytes that a model reads of a request. A token is about four of them in
// English and in code, and an image counts for what it costs.
func (r Request) Size() int64 {
	n := len(r.System)
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range r.Messages {
		n += int(BlocksSize(m.Content))
	}
	return int64(n)
}

// BlocksSize returns the number of bytes that a model reads of blocks.
func BlocksSize(blocks []Block) int64 {
	var n int
	for _, b := range blocks {
		n += len(b.Text) + len(b.Thinking) + len(b.Name) + len(b.Input) + len(b.Content) + len(b.Images)*imageSize
	}
	return int64(n)
}
