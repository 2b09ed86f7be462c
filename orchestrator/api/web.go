package api

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/coveyteam/covey/orchestrator/process"
)

// The verbs of the web page.
var (
	VerbWeb  = forOperator[WebPage, WebPage]("web")
	VerbPeer = forOperator[Connection, Peer]("peer")
)

// WebPage is the address of a team's web page, with its token. A request with an empty URL
// asks for it; another replaces it.
type WebPage struct {
	URL string `json:"url"` // empty: there is none
}

// Connection is a TCP connection within this machine, which the caller has accepted.
type Connection struct {
	Here  netip.AddrPort `json:"here"`
	There netip.AddrPort `json:"there"`
}

// Peer says who has made a Connection.
type Peer struct {
	// Known is false if the system does not tell.
	Known    bool   `json:"known"`
	Operator bool   `json:"operator"`
	Text     string `json:"text"` // for people
}

// HandleWeb makes the handler of VerbWeb, which remembers the address while the team runs.
func HandleWeb() Handler {
	var mu sync.Mutex
	var page WebPage
	return VerbWeb.Handle(func(_ context.Context, p WebPage) (WebPage, error) {
		mu.Lock()
		defer mu.Unlock()
		if p.URL != "" {
			page = p
		}
		return page, nil
	})
}

// HandlePeer makes the handler of VerbPeer. f is process.Processes.Connected.
func HandlePeer(f func(here, there netip.AddrPort) (process.Caller, error)) Handler {
	return VerbPeer.Handle(func(_ context.Context, at Connection) (Peer, error) {
		by, err := f(at.Here, at.There)
		if errors.Is(err, errors.ErrUnsupported) {
			return Peer{}, nil
		}
		return Peer{Known: true, Operator: by.Kind == process.Operator, Text: by.String()}, err
	})
}

// Web sets the address of the team's web page, if p has one, and returns it.
func (c *Client) Web(ctx context.Context, p WebPage) (WebPage, error) {
	return ask(ctx, c, VerbWeb, p)
}

// Peer returns who has made a connection.
func (c *Client) Peer(ctx context.Context, at Connection) (Peer, error) {
	return ask(ctx, c, VerbPeer, at)
}
