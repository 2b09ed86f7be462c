package api

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/coveyteam/covey/tasks/requests"
)

// The verbs of the web page.
var (
	VerbWeb  = forOperator[WebPage, WebPage]("web")
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
	// Refused is why the link does not answer, for people; empty: it does, or just did.
	Refused string `json:"refused,omitempty"`
}

// WebPage is what a team knows of its web page. A request sets the URL unless it is empty.
type WebPage struct {
	URL string `json:"url"` // its address, with its token; empty: there is none
	// Public is the address that the spec names for it, in a reply; empty: none.
	Public string `json:"public_url,omitempty"`
	// NewCode asks for a code that lets one browser in, which the reply has in Code. A request
	// with a Code uses it up; the reply has it only if it was good.
	NewCode bool   `json:"new_code,omitempty"`
	Code    string `json:"code,omitempty"`
}

const (
	codeAge  = 10 * time.Minute // how long a code is good
	codeSize = 10               // characters of a code, of 5 bits each
	maxCodes = 16               // codes that are good at a time; the oldest is dropped first
)

// Page keeps what a team knows of its web page while it runs, in memory alone, because members can
// read files. The zero Page knows nothing. It is safe for concurrent use.
type Page struct {
	Public func() string // the address that the spec names for it; nil: none

	mu    sync.Mutex
	url   string
	codes []code
}

// code is a code that is good once.
type code struct {
	text  string
	until time.Time
}

// URL returns the address, with its token; empty: no page is open.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.url
}

// Web carries out a request.
func (p *Page) Web(_ context.Context, r WebPage) (WebPage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL != "" {
		p.url = r.URL
	}
	reply := WebPage{URL: p.url}
	if p.Public != nil {
		reply.Public = p.Public()
	}
	if p.use(r.Code) {
		reply.Code = r.Code
	}
	if r.NewCode {
		reply.Code = rand.Text()[:codeSize]
		p.codes = append(p.codes, code{reply.Code, time.Now().Add(codeAge)})
		p.codes = p.codes[max(0, len(p.codes)-maxCodes):]
	}
	return reply, nil
}

// use reports whether a code is good, and uses it up. p.mu is held.
func (p *Page) use(text string) bool {
	for i, c := range p.codes {
		if subtle.ConstantTimeCompare([]byte(c.text), []byte(text)) == 1 {
			p.codes = append(p.codes[:i:i], p.codes[i+1:]...)
			return time.Now().Before(c.until)
		}
	}
	return false
}

// Web tells a running team about its web page, or asks it, as Page.Web does.
func (c *Client) Web(ctx context.Context, p WebPage) (WebPage, error) {
	return ask(ctx, c, VerbWeb, p)
}

// Link looks at a link that answers a request, or answers with it. It fails with
// tasks.ErrNotFound for a link that is not known.
func (c *Client) Link(ctx context.Context, l Link) (LinkReply, error) {
	return ask(ctx, c, VerbLink, l)
}
