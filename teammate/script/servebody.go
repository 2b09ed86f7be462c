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

// Bounds of the requests' bodies that a server holds at a time. Whoever reaches the port may
// send as much as they like, and a body may come as slowly.
const (
	maxOfKey  = MaxRequest + MaxRequest/2 // of the requests with one key, in bytes
	maxBodies = 3 * MaxRequest            // of all
	bodyWait  = time.Minute               // for the whole body of a request to arrive
)

// bodies counts the bytes of the requests' bodies that a server holds. The zero value holds none.
type bodies struct {
	mu    sync.Mutex
	all   int
	byKey map[string]int
}

// take counts n bytes more for a key; false: that would be too many.
func (b *bodies) take(key string, n int) bool {
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

// give takes back what take has counted.
func (b *bodies) give(key string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.byKey[key] -= n; b.byKey[key] == 0 {
		delete(b.byKey, key)
	}
}

// countedBody is a request's body whose bytes are counted as they arrive.
type countedBody struct {
	io.Reader
	of    *bodies
	key   string
	taken int
}

// errCrowded refuses a body that there is no room for beside others.
var errCrowded = &agent.APIError{Type: "overloaded",
	Message: "the requests under way are too large together; send it again later"}

// Read implements io.Reader.
func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if !c.of.take(c.key, n) {
		return 0, errCrowded
	}
	c.taken += n
	return n, err
}

// done is for a body that nobody holds any more.
func (c *countedBody) done() { c.of.give(c.key, c.taken) }

// readBody reads a request's JSON, once its key is known to be one that gets an answer. The
// body counts as held until done is called.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	key, control := keyOf(r), http.NewResponseController(w)
	// A writer without a connection, which has no deadline, has nothing to wait for either.
	_ = control.SetReadDeadline(time.Now().Add(bodyWait))
	defer func() {
		if err != nil {
			w.Header().Set("Connection", "close") // the rest of the body is not waited for
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
			Message: fmt.Sprintf("the request is larger than %d MiB; begin a new conversation", MaxRequest>>20)}
	case err == nil && !json.Valid(body):
		err = &agent.APIError{Type: "invalid_request", Message: "the request's body is not JSON"}
	}
	if err != nil {
		counted.done()
		return nil, nil, err
	}
	return body, counted.done, nil
}

// answers reports whether requests with a key may get an answer. A server with scripts of its own has one
// for every key, as long as the model is right.
func (s *Server) answers(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.scripts) > 0 || s.admitted[key] != nil
}

// errNoKey is why a request gets no script whose key nobody has admitted.
var errNoKey = errors.New("no script for this API key; send the one that the agent was started with")
