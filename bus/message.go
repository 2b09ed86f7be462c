package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Message is a received message.
type Message[T any] struct {
	ID   string    // a ULID, made by the sending side
	From string    // the sender's Options.Name; trustworthy only inside the process
	Time time.Time // when it was sent
	Body T
}

// envelope is a message on the wire.
type envelope[T any] struct {
	ID    string     `json:"id"`
	From  string     `json:"from"`
	Time  time.Time  `json:"time"`
	Error *wireError `json:"error,omitempty"` // answers only
	Body  *T         `json:"body,omitempty"`  // null for a T that encodes so
}

type wireError struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// seal encodes a body in an envelope.
func seal[T any](b *Bus, body *T, failure *wireError) ([]byte, error) {
	e := envelope[T]{ID: newID(), From: b.opts.Name, Time: b.opts.Now(), Error: failure, Body: body}
	data, err := json.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("bus: cannot encode a %T: %w", body, err)
	}
	if len(data) > b.opts.MaxPayload {
		return nil, &SizeError{Size: len(data), Limit: b.opts.MaxPayload}
	}
	return data, nil
}

// open decodes an envelope whose body is a T. It returns an error answer as an *Error.
func open[T any](data []byte) (Message[T], error) {
	var e envelope[T]
	if err := json.Unmarshal(data, &e); err != nil {
		return Message[T]{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if e.Error != nil {
		return Message[T]{}, &Error{Code: e.Error.Code, Text: e.Error.Text}
	}
	if e.ID == "" {
		return Message[T]{}, fmt.Errorf("%w: no id", ErrMalformed)
	}
	m := Message[T]{ID: e.ID, From: e.From, Time: e.Time}
	if e.Body != nil {
		m.Body = *e.Body
	}
	return m, nil
}

// Publish sends body to all current subscribers of s. It fails with a *SizeError for a
// body that is too large, and with ErrClosed.
func Publish[T any](b *Bus, s Subject, body T) error {
	data, err := seal(b, &body, nil)
	if err != nil {
		return err
	}
	return b.publish(s, data)
}

// Subscribe calls f for each message on s, one at a time, in its own goroutine. It
// reports a message that is not a T to Options.OnError.
func Subscribe[T any](b *Bus, s Subject, f func(Message[T])) (*Subscription, error) {
	return b.subscribe(s, func(d delivery) {
		m, err := open[T](d.Data)
		if err != nil {
			b.opts.OnError(fmt.Errorf("message on %s: %w", s, err))
			return
		}
		f(m)
	})
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
