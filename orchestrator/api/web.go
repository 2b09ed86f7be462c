package api

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/tasks/requests"
)

// The verbs of the web page.
var (
	VerbWeb  = forOperator[WebPage, WebPage]("web")
	VerbPeer = forOperator[Connection, Peer]("peer")
	VerbLink = forOperator[Link, LinkReply]("answer-link")
)

// Link looks at a link that answers a request, or answers with it.
type Link struct {
	Token    string `json:"token"`
	Answer   bool   `json:"answer"` // false: only look
	Approve  bool   `json:"approve"`
	Feedback string `json:"feedback,omitempty"`
}

// LinkReply is what a link leads to.
type LinkReply struct {
	Request requests.Request `json:"request"`
	// Refused says why the link does not answer, for people; empty: it does, or just did.
	Refused string `json:"refused,omitempty"`
}

// WebPage is the address of a team's web page, with its token. A request with an empty URL
// asks for it; another replaces it.
type WebPage struct {
	URL string `json:"url"` // empty: there is none
	// Public is the address that the spec names for it, in a reply; empty: none.
	Public string `json:"public_url,omitempty"`
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

// Page remembers the address of a team's web page while the team runs. The zero Page has none.
type Page struct {
	mu  sync.Mutex
	url string
}

// URL returns the address, with its token; empty: no page is open.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.url
}

// HandleWeb makes the handler of VerbWeb. public returns the address that the spec names.
func HandleWeb(p *Page, public func() string) Handler {
	return VerbWeb.Handle(func(_ context.Context, told WebPage) (WebPage, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if told.URL != "" {
			p.url = told.URL
		}
		return WebPage{URL: p.url, Public: public()}, nil
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

// Link looks at a link that answers a request, or answers with it. It fails with
// tasks.ErrNotFound for a link that is not known.
func (c *Client) Link(ctx context.Context, l Link) (LinkReply, error) {
	return ask(ctx, c, VerbLink, l)
}
