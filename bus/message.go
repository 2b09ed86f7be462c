package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Message is what arrives.
type Message[T any] struct {
	ID   string    // a ULID, made where the message entered the bus
	From string    // the sender's Options.Name: inside the process it can be trusted
	Time time.Time // when it was sent
	Body T
}

// envelope is a message on the wire.
type envelope struct {
	ID    string          `json:"id"`
	From  string          `json:"from"`
	Time  time.Time       `json:"time"`
	Error *wireError      `json:"error,omitempty"` // answers only
	Body  json.RawMessage `json:"body,omitempty"`
}

type wireError struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// seal puts a body into an envelope.
func (b *Bus) seal(body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("bus: cannot encode a %T: %w", body, err)
	}
	return b.encode(envelope{Body: raw})
}

// encode completes e and checks its size.
func (b *Bus) encode(e envelope) ([]byte, error) {
	e.ID, e.From, e.Time = newID(), b.opts.Name, b.opts.Now()
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	if len(data) > b.opts.MaxPayload {
		return nil, &SizeError{Size: len(data), Limit: b.opts.MaxPayload}
	}
	return data, nil
}

// open reads an envelope whose body is a T. An answer that is an error comes
// back as an *Error.
func open[T any](data []byte) (Message[T], error) {
	var e envelope
	var m Message[T]
	if err := json.Unmarshal(data, &e); err != nil {
		return m, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if e.Error != nil {
		return m, &Error{Code: e.Error.Code, Text: e.Error.Text}
	}
	if len(e.Body) == 0 {
		return m, fmt.Errorf("%w: no body", ErrMalformed)
	}
	m = Message[T]{ID: e.ID, From: e.From, Time: e.Time}
	if err := json.Unmarshal(e.Body, &m.Body); err != nil {
		return m, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m, nil
}

// Publish sends body to all who subscribe to s now. It fails with a *SizeError
// for a body that is too large and with ErrClosed.
func Publish[T any](b *Bus, s Subject, body T) error {
	data, err := b.seal(body)
	if err != nil {
		return err
	}
	return b.publish(s, data)
}

// Subscribe calls f for each message on s, one after another, from a goroutine
// of its own. A message that is no T is told to Options.OnError.
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

// answer sends what a handler came to.
func (b *Bus) answer(reply string, body any, failure error) {
	if reply == "" {
		return // nobody waits
	}
	data, err := b.sealAnswer(body, failure)
	if err == nil {
		err = b.publish(Subject(reply), data)
	}
	if err != nil && !errors.Is(err, ErrClosed) {
		b.opts.OnError(fmt.Errorf("answer on %s: %w", reply, err))
	}
}

func (b *Bus) sealAnswer(body any, failure error) ([]byte, error) {
	if failure == nil {
		data, err := b.seal(body)
		var size *SizeError
		if !errors.As(err, &size) {
			return data, err
		}
		failure = Errorf(CodeTooLarge, "the answer is too large: %v", err)
	}
	return b.encode(envelope{Error: &wireError{Code: CodeOf(failure), Text: failure.Error()}})
}
