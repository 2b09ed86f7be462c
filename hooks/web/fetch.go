package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Bounds of Fetch.
const (
	// MaxPage is how many bytes of a page are read.
	MaxPage      = 5 << 20
	maxRedirects = 10
)

// Page is what a URL has led to.
type Page struct {
	URL    string // after redirects
	Status int    // 200 and the like
	Type   string // Content-Type, guessed from the content if the server names none
	Body   []byte
	Cut    bool // the page is longer than MaxPage
	// Elsewhere is where the page leads with a redirect to another host, which was not
	// followed; empty if there was none.
	Elsewhere string
}

// errElsewhere ends a request whose redirect leads to another host.
var errElsewhere = errors.New("it redirects to another host")

// Fetch gets a page. It follows redirects to the same host only, because whoever allowed the
// URL has not seen another. named says that a rule names the host: then its address may be a
// private one or this machine, and http stays http; otherwise it becomes https. The error
// says why there is no page; an answer of the server that says no is one as well.
func Fetch(ctx context.Context, w World, to *Target, named bool) (Page, error) {
	if err := to.fetchable(named); err != nil {
		return Page{}, err
	}
	from := *to.url
	if !named {
		from.Scheme = "https"
	}
	transport := w.transport(to.guard(named))
	defer transport.CloseIdleConnections()
	var page Page
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, past []*http.Request) error {
		switch {
		case next.URL.Scheme != from.Scheme || next.URL.Host != from.Host:
			page.Elsewhere = next.URL.String()
			return errElsewhere
		case len(past) > maxRedirects:
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		return nil
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return Page{}, errors.New(webTrouble(err))
	}
	request.Header.Set("User-Agent", "covey (https://github.com/coveyteam/covey)")
	request.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5")
	response, err := client.Do(request)
	switch {
	case response != nil && page.Elsewhere != "":
		response.Body.Close()
		page.URL, page.Status = from.String(), response.StatusCode
		return page, nil
	case err != nil && ctx.Err() != nil:
		return Page{}, context.Cause(ctx)
	case err != nil:
		return Page{}, errors.New(webTrouble(err))
	}
	defer response.Body.Close()
	return page, page.read(response)
}

// Fetchable returns why Fetch would refuse a URL, or nil. A host that cannot be resolved is no reason.
func Fetchable(ctx context.Context, w World, to *Target, named bool) error {
	err := to.fetchable(named)
	if err != nil || to.addr.IsValid() {
		return err
	}
	found, unknown := cmp.Or(w.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", to.host)
	if unknown != nil {
		return nil
	}
	for _, addr := range found {
		if err = to.guard(named).check(addr); err == nil {
			return nil // Fetch tries all of them
		}
	}
	return err
}

// fetchable returns why Fetch refuses a URL whatever its host resolves to, or nil.
func (t *Target) fetchable(named bool) error {
	g := t.guard(named)
	switch {
	case t.url.User != nil:
		return errors.New("it holds a name or a password, which would be shown wherever the URL is")
	case t.local() && !named:
		return fmt.Errorf("it names this machine: if that is meant, name its host in %s", g.list)
	case t.addr.IsValid():
		return g.check(t.addr)
	}
	return nil
}

// guard returns the guard of a request for a page. named says that a rule names the host.
func (t *Target) guard(named bool) guard {
	return guard{local: t.local(), listed: named,
		list: fmt.Sprintf("a rule, as in permissions: {allow: [WebFetch(domain:%s)]}", t.host)}
}

// read reads a response.
func (p *Page) read(response *http.Response) error {
	p.URL, p.Status = response.Request.URL.String(), response.StatusCode
	if p.Status < 200 || p.Status > 299 {
		return fmt.Errorf("HTTP %s", cmp.Or(response.Status, fmt.Sprint(p.Status)))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxPage+1))
	if err != nil {
		return errors.New(webTrouble(err))
	}
	p.Cut = len(body) > MaxPage
	p.Body = body[:min(len(body), MaxPage)]
	p.Type = cmp.Or(response.Header.Get("Content-Type"), http.DetectContentType(body))
	return nil
}

// Canonical returns a URL in the form that all parsers understand alike, so that rules see the
// host that is called, or text itself if it is no URL.
func Canonical(text string) string {
	to, err := ParseTarget(text)
	if err != nil {
		return text
	}
	return to.String()
}
