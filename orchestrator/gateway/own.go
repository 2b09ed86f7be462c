package gateway

import (
	"net/http"
)

// Own describes a model of covey's own agent, which needs no door: its requests are made here.
type Own struct {
	Login    string   // the account that pays, which other members may share
	Models   []string // patterns of the models that may be asked; empty: all
	Provider string
	Model    string
}

// Transport returns a transport for a model of covey's own agent, which keeps to the list of models and to the
// waits of its login. Its limits and its use are those of each of its requests anyway.
func (g *Gateway) Transport(o Own, next http.RoundTripper) http.RoundTripper {
	return ownTransport{g, o, next}
}

// ownTransport is Gateway.Transport.
type ownTransport struct {
	gate *Gateway
	own  Own
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t ownTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	err := allowed(t.own.Models, t.own.Provider, t.own.Model)
	if err == nil {
		err = t.gate.await(r.Context(), t.own.Login)
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as a transport has to
		}
		return nil, err
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		t.gate.hold(t.own.Login, waitOf(resp, t.gate.deps.Clock.Now()))
	}
	return resp, err
}
