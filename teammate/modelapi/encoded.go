package modelapi

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// encoded keeps the messages of a conversation in the form of an API, because each request has all
// of them and only a few are new. It is safe for concurrent use.
type encoded struct {
	mu    sync.Mutex
	of    []agent.Message
	ends  []int  // where each ends in text
	marks []int  // where its last block begins, after the brace; -1: it gets no mark
	text  []byte // elements of a list, separated by commas; only appended to, because requests read it
}

// list returns the elements of messages. It encodes only those that it was not given before. encode
// returns the elements of one message, which may be none, and where it may be marked.
func (e *encoded) list(messages []agent.Message, encode func(agent.Message) (text []byte, mark int)) (text []byte, marks []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := 0
	for known < min(len(e.of), len(messages)) && same(e.of[known], messages[known]) {
		known++
	}
	if known < len(e.of) { // another request may still read what is dropped
		end := 0
		if known > 0 {
			end = e.ends[known-1]
		}
		e.of, e.ends, e.marks = e.of[:known], slices.Clip(e.ends[:known]), slices.Clip(e.marks[:known])
		e.text = slices.Clip(e.text[:end])
	}
	for _, m := range messages[known:] {
		elements, mark := encode(m)
		if len(elements) > 0 && len(e.text) > 0 {
			e.text = append(e.text, ',')
		}
		if mark >= 0 {
			mark += len(e.text)
		}
		e.text = append(e.text, elements...)
		e.of, e.ends, e.marks = append(e.of, m), append(e.ends, len(e.text)), append(e.marks, mark)
	}
	return e.text, e.marks
}

// same reports whether two messages are one: nobody changes the blocks of a message.
func same(a, b agent.Message) bool {
	return a.Role == b.Role && len(a.Content) == len(b.Content) && (len(a.Content) == 0 || &a.Content[0] == &b.Content[0])
}

// joined encodes the elements of one message.
func joined[T any](elements []T) []byte {
	var text []byte
	for i, v := range elements {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, encode(v)...)
	}
	return text
}

// payload is the body of a request in pieces, so that a conversation need not be copied.
type payload [][]byte

// reader returns a reader of the whole body.
func (p payload) reader() io.Reader {
	readers := make([]io.Reader, len(p))
	for i, part := range p {
		readers[i] = bytes.NewReader(part)
	}
	return io.MultiReader(readers...)
}

// size returns the number of bytes.
func (p payload) size() (n int64) {
	for _, part := range p {
		n += int64(len(part))
	}
	return n
}

// hole stands for the conversation while the rest of a body is encoded.
const hole = "covey: the conversation"

// fill encodes a body and puts the conversation, the elements of a list, into its hole.
func fill(body object, conversation payload) payload {
	before, after, _ := bytes.Cut(encode(body), encode(hole))
	return append(append(payload{append(before, '[')}, conversation...), append([]byte{']'}, after...))
}
