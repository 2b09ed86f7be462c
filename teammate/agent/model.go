package agent

import "context"

// Model answers the builtin agent: a model API, or a script.
//
// Generate answers one request. It fails with an *APIError when the model
// cannot answer, and with ctx's error when ctx ends first.
type Model interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// Request is one model request: the whole conversation so far.
type Request struct {
	System   string
	Messages []Message
	// New is the index of the first message that was in no earlier request of this
	// conversation. The script model's `when` checks only new text.
	New   int
	Tools []Spec
}

// Response is a model's answer to one request.
type Response struct {
	Content []Block // text, thinking and tool_use blocks; empty: an empty answer
	Usage   Usage
	Step    *int // which script step served; nil for a real model
	// CutOff says that the answer ends where the limit of output tokens was reached. The last
	// block may be incomplete.
	CutOff bool
}
