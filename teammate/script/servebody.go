package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// Limits of the request bodies that a server holds at a time. Any client that
// reaches the port can send bodies of any size at any speed.
const (
	maxOfKey  = MaxRequest + MaxRequest/2 // of the requests with one key, in bytes
	maxBodies = 3 * MaxRequest            // of all requests, in bytes
	bodyWait  = time.Minute               // time for the whole body of a request to arrive
)

// bodies counts the bytes of request bodies that a server holds. The zero value is
// ready to use.
type bodies struct {
	mu    sync.Mutex
	all   int
	byKey map[string]int
}

// reserve counts n more bytes for a key. It returns false, and counts nothing, if
// that exceeds a limit.
func (b *bodies) reserve(key string, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all+n > maxBodies || b.byKey[key]+n > maxOfKey {
		return false
	}
	if b.byKey == nil {
		b.byKey = map[string]int{}
	}
	b.all += n
	b.byKey[key] += n
	return true
}

// release undoes reserve.
func (b *bodies) release(key string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.byKey[key] -= n; b.byKey[key] == 0 {
		delete(b.byKey, key)
	}
}

// countedBody is a request body whose bytes are counted as they arrive.
type countedBody struct {
	io.Reader
	of    *bodies
	key   string
	taken int
}

// errCrowded refuses a body that exceeds the limits together with the others.
var errCrowded = &agent.APIError{Type: "overloaded",
	Message: "the requests in progress are too large together; send this one again later"}

// Read implements io.Reader.
func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if !c.of.reserve(c.key, n) {
		return 0, errCrowded
	}
	c.taken += n
	return n, err
}

// done releases the bytes of a body that is no longer held.
func (c *countedBody) done() { c.of.release(c.key, c.taken) }

// readBody reads the JSON body of a request after checking its key. The body counts
// as held until done is called.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	key, control := KeyOf(r), http.NewResponseController(w)
	// A writer without a connection, as in tests, has no deadline and needs none.
	_ = control.SetReadDeadline(time.Now().Add(bodyWait))
	defer func() {
		if err != nil {
			w.Header().Set("Connection", "close") // do not wait for the rest of the body
			return
		}
		_ = control.SetReadDeadline(time.Time{})
	}()
	if !s.answers(key) {
		return nil, nil, &agent.APIError{Type: "authentication_failed", Message: errNoKey.Error()}
	}
	counted := &countedBody{Reader: http.MaxBytesReader(w, r.Body, MaxRequest), of: &s.bodies, key: key}
	body, err = io.ReadAll(counted)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		err = &agent.APIError{Type: "invalid_request",
			Message: fmt.Sprintf("the request is larger than %d MiB; start a new conversation", MaxRequest>>20)}
	case err == nil && !json.Valid(body):
		err = &agent.APIError{Type: "invalid_request", Message: "the request's body is not JSON"}
	}
	if err != nil {
		counted.done()
		return nil, nil, err
	}
	return body, counted.done, nil
}

// answers reports whether requests with a key may get an answer. A server with
// scripts of its own accepts every key, because the model may select the script.
func (s *Server) answers(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.scripts) > 0 || s.admitted[key] != nil
}

// errNoKey is the error of a request whose key was not admitted.
var errNoKey = errors.New("no script for this API key; send the one that the agent was started with")
