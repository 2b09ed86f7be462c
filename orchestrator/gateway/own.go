package gateway

import (
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/teammate/script"
)

// Own describes a model of covey's own agent, which needs no door: its requests are made here.
type Own struct {
	Models   []configs.ModelList // each has the models that may be asked
	Provider string
	Model    string
}

// Transport returns a transport for a model of covey's own agent, which keeps to the list of models and to the
// waits of its login, and records on a lane or answers from it; nil: neither. Its limits and its use are those of
// each of its requests anyway.
func (g *Gateway) Transport(o Own, lane *recordings.Lane, next http.RoundTripper) http.RoundTripper {
	return ownTransport{o, g.transport("", lane, next)}
}

// transport returns a transport that keeps to the waits of a login, and to a lane.
func (g *Gateway) transport(login string, lane *recordings.Lane, next http.RoundTripper) http.RoundTripper {
	next = lane.Transport(next)
	if lane.Replays() {
		return next
	}
	return waiting{g, login, next}
}

// ownTransport is Gateway.Transport.
type ownTransport struct {
	own  Own
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t ownTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := allowed(t.own.Models, t.own.Provider, t.own.Model); err != nil {
		closeBody(r)
		return nil, err
	}
	return t.next.RoundTrip(r)
}

// waiting holds back requests while the vendor wants their login to wait: those of programs and those of covey's
// own agent.
type waiting struct {
	gate  *Gateway
	login string // empty: the key of each request
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	login := t.login
	if login == "" {
		login = keyLogin(r)
	}
	if err := t.gate.await(r.Context(), login); err != nil {
		closeBody(r)
		return nil, err
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		t.gate.hold(login, waitOf(resp, t.gate.deps.Clock.Now()))
	}
	return resp, err
}

// keyLogin returns the login of a request with a key: the host, and the key in a form that is no secret.
func keyLogin(r *http.Request) string {
	return fmt.Sprintf("%s %x", r.URL.Host, sha256.Sum256([]byte(script.KeyOf(r))))
}

// closeBody closes the body of a request that does not leave, as a transport has to.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
