package script

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// dialect is the form that one model API gives to requests and answers. It
// decides nothing and touches no connection.
type dialect interface {
	// read turns a body that is sound JSON into an exchange, or says what the
	// API's user did wrong.
	read(body []byte) (*exchange, error)
	// whole is the answer as one body.
	whole(x *exchange, a answer) any
	// events is the answer as a stream.
	events(x *exchange, a answer) []event
	// failure is an error's status and body.
	failure(e *agent.APIError) (int, object)
}

// event is one event of a stream. Name is empty where the API names none.
type event struct {
	name string
	data any // its JSON; rawText as it stands
}

// rawText is data of an event that is no JSON.
type rawText string

// api serves a dialect whose requests say all in their body.
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
	x.key = keyOf(r)
	// Errors come before the first byte of a stream, so that they have a status.
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

// refuse answers with an error. Nobody is left to read that a request was
// cancelled.
func refuse(w http.ResponseWriter, d dialect, err error) {
	var e *agent.APIError
	if !errors.As(err, &e) {
		e = &agent.APIError{Type: "server_error", Message: err.Error()}
	}
	status, body := d.failure(e)
	writeJSON(w, status, body)
}

// writeJSON answers with one JSON body. An answer that cannot be written has no
// reader any more.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(notation.Encode(body), '\n'))
}

// writeEvents answers with a stream of events, each sent at once, and stops when
// the agent has hung up.
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
		_ = flush.Flush() // a writer that cannot flush sends all at its end
	}
}

// bytes is the event as it stands on the wire.
func (e event) bytes() []byte {
	var b bytes.Buffer
	if e.name != "" {
		fmt.Fprintf(&b, "event: %s\n", e.name)
	}
	b.WriteString("data: ")
	if text, raw := e.data.(rawText); raw {
		b.WriteString(string(text))
	} else {
		b.Write(notation.Encode(e.data))
	}
	b.WriteString("\n\n")
	return b.Bytes()
}

// pieces cuts a text into what a stream sends at a time: short, so that agents
// have something to join, and not so many that a long text takes long.
func pieces(text string) []string {
	const short, most = 48, 64
	size := max(short, len(text)/most)
	var list []string
	for len(text) > size {
		cut := size
		for cut < len(text) && text[cut]&0xc0 == 0x80 { // not inside a character
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

// decode reads a body into one of the APIs' requests.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("the request is not as the API wants it: %s is a %s",
			cmp.Or(wrong.Field, "the body"), wrong.Value)
	}
	return err
}
