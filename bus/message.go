package bus

import (
	"encoding/json"
	"errors"
	"fmt"
)

// envelope is a request or an answer on the wire.
type envelope[T any] struct {
	ID    string     `json:"id"`              // a ULID, made by the sending side
	Error *wireError `json:"error,omitempty"` // answers only
	Body  *T         `json:"body,omitempty"`  // null for a T that encodes so
}

type wireError struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// seal encodes a body in an envelope.
func seal[T any](b *Bus, body *T, failure *wireError) ([]byte, error) {
	data, err := json.Marshal(envelope[T]{ID: newID(), Error: failure, Body: body})
	if err != nil {
		return nil, fmt.Errorf("bus: cannot encode a %T: %w", body, err)
	}
	if len(data) > b.opts.MaxPayload {
		return nil, &SizeError{Size: len(data), Limit: b.opts.MaxPayload}
	}
	return data, nil
}

// open decodes an envelope whose body is a T. It returns an error answer as an *Error.
func open[T any](data []byte) (body T, err error) {
	var e envelope[T]
	if err := json.Unmarshal(data, &e); err != nil {
		return body, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if e.Error != nil {
		return body, &Error{Code: e.Error.Code, Text: e.Error.Text}
	}
	if e.ID == "" {
		return body, fmt.Errorf("%w: no id", ErrMalformed)
	}
	if e.Body != nil {
		body = *e.Body
	}
	return body, nil
}

// answer sends a handler's result.
func answer[T any](b *Bus, reply string, body *T, failure error) {
	if reply == "" {
		return // no caller waits
	}
	data, err := sealAnswer(b, body, failure)
	if err == nil {
		err = b.publish(Subject(reply), data)
	}
	if err != nil && !errors.Is(err, ErrClosed) {
		b.opts.OnError(fmt.Errorf("answer on %s: %w", reply, err))
	}
}

func sealAnswer[T any](b *Bus, body *T, failure error) ([]byte, error) {
	if failure == nil {
		data, err := seal(b, body, nil)
		if err == nil {
			return data, nil
		}
		failure = err
		if size := (*SizeError)(nil); errors.As(err, &size) {
			failure = Errorf(CodeTooLarge, "the answer is too large: %v", err)
		}
	}
	return seal[struct{}](b, nil, &wireError{Code: CodeOf(failure), Text: cutText(failure.Error())})
}

// maxErrorText bounds the text of an error in an answer.
const maxErrorText = 64 << 10

// cutText cuts an error's text to the limit.
func cutText(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	return s[:maxErrorText] + " …"
}
