package script

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// dialect converts requests and answers of one model API. It makes no decisions and
// uses no connection.
type dialect interface {
	// read converts a body, which is valid JSON, to an exchange. Its error describes
	// the client's mistake.
	read(body []byte) (*exchange, error)
	// whole returns the answer as one body.
	whole(x *exchange, a answer) any
	// events returns the answer as a stream.
	events(x *exchange, a answer) []event
	// failure returns the HTTP status and body for an error.
	failure(e *agent.APIError) (int, object)
}

// event is one event of a stream. name is empty if the API has no event names.
type event struct {
	name string
	data any // encoded as JSON; a rawText is sent unchanged
}

// rawText is event data that is not JSON.
type rawText string

// api returns a handler for a dialect whose requests are complete in their body.
func (s *Server) api(d dialect) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, d) })
}

// serve answers one request in a dialect.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, d dialect) {
	body, done, err := s.readBody(w, r)
	if err != nil {
		refuse(w, d, err)
		return
	}
	defer done()
	x, err := d.read(body)
	if err != nil {
		refuse(w, d, &agent.APIError{Type: "invalid_request", Message: err.Error()})
		return
	}
	x.key = KeyOf(r)
	// Errors are sent before a stream begins, so that they have a status.
	a, err := s.reply(r.Context(), x)
	if err != nil {
		refuse(w, d, err)
		return
	}
	if x.stream {
		writeEvents(r.Context(), w, d.events(x, a))
		return
	}
	writeJSON(w, http.StatusOK, d.whole(x, a))
}

// refuse answers with an error. If the request was cancelled, nobody reads it.
func refuse(w http.ResponseWriter, d dialect, err error) {
	var e *agent.APIError
	if !errors.As(err, &e) {
		e = &agent.APIError{Type: "server_error", Message: err.Error()}
	}
	status, body := d.failure(e)
	writeJSON(w, status, body)
}

// writeJSON answers with one JSON body. It ignores write errors, because they mean
// that the client is gone.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(texts.Encode(body), '\n'))
}

// writeEvents answers with a stream and flushes each event. It stops when the
// client disconnects.
func writeEvents(ctx context.Context, w http.ResponseWriter, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	for _, e := range events {
		if ctx.Err() != nil {
			return
		}
		if _, err := w.Write(e.bytes()); err != nil {
			return
		}
		_ = flush.Flush() // a writer without Flush sends everything at the end
	}
}

// bytes returns the event in the format of server-sent events.
func (e event) bytes() []byte {
	var b bytes.Buffer
	if e.name != "" {
		fmt.Fprintf(&b, "event: %s\n", e.name)
	}
	b.WriteString("data: ")
	if text, raw := e.data.(rawText); raw {
		b.WriteString(string(text))
	} else {
		b.Write(texts.Encode(e.data))
	}
	b.WriteString("\n\n")
	return b.Bytes()
}

// pieces splits a text into the fragments of a stream: short enough that agents
// have to join some, and at most 64 or so, so that a long text does not take long.
func pieces(text string) []string {
	const short, most = 48, 64
	size := max(short, len(text)/most)
	var list []string
	for len(text) > size {
		cut := size
		for cut < len(text) && text[cut]&0xc0 == 0x80 { // do not split a character
			cut++
		}
		list = append(list, text[:cut])
		text = text[cut:]
	}
	if text != "" {
		list = append(list, text)
	}
	return list
}

// decode decodes a body into a request of one of the APIs.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the request does not match the API: %s is a %s",
			cmp.Or(wrong.Field, "the body"), wrong.Value)
	}
	return err
}
