// Package web makes the requests of http hooks and of the tool WebFetch: it parses URLs and
// headers, applies the patterns that settings allow, and refuses at dial time addresses that
// a URL must not lead to. It makes no promise of compatibility to programs outside covey.
//
// The guard checks the address that is dialled, not the name: a name may resolve to a
// private address, or change between two look-ups.
package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Bounds of a response.
const (
	// MaxBody is how long the body of an answer may be.
	MaxBody           = 1 << 20
	maxResponseHeader = 64 << 10
)

// World is how requests reach the network; tests replace it.
type World struct {
	Resolver *net.Resolver  // nil: the system's
	Roots    *x509.CertPool // nil: the system's
}

// Permits describes what the http hooks of one layer of settings may do.
type Permits interface {
	// URL returns why they may not call to, or "". listed reports that a list names the
	// host, so that its address may be a private one.
	URL(to *Target) (why string, listed bool)
	// Variable reports whether they may use a variable in headers.
	Variable(name string) bool
}

// Request is what an http handler says of its requests.
type Request struct {
	URL            string
	Headers        map[string]string // values may name variables, as in $TOKEN
	AllowedEnvVars []string          // the variables that have a value in Headers
}

// Endpoint is an http handler that is ready to run: everything of a call but its body.
type Endpoint struct {
	// Fault is why it is never called; empty if it is.
	Fault  string
	to     *Target
	header http.Header
	guard  guard
}

// Prepare parses a request and decides what it may call and use in headers. value returns
// the variables of the environment.
func (r *Request) Prepare(may Permits, value func(name string) string) *Endpoint {
	to, err := ParseTarget(r.URL)
	if err != nil {
		return &Endpoint{Fault: err.Error()}
	}
	why, listed := may.URL(to)
	return &Endpoint{to: to, Fault: why, header: r.header(may.Variable, value),
		guard: guard{local: to.local(), listed: listed}}
}

// Post makes one request over a connection of its own, which is closed when it returns. It
// uses no cookies and no proxy, and follows no redirects. The body of the response goes to
// out. status is 0 without a response; trouble says why there is no answer to read, and is
// empty if there is one.
func (e *Endpoint) Post(ctx context.Context, w World, body []byte, out io.Writer) (status int, trouble string) {
	transport := w.transport(e.guard)
	transport.DisableCompression = true // the bytes that are counted are those that came
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.to.url.String(), bytes.NewReader(body))
	if err != nil {
		return 0, webTrouble(err)
	}
	request.Header = e.header.Clone()
	response, err := client.Do(request)
	if err != nil {
		return 0, webTrouble(err)
	}
	defer response.Body.Close()
	return response.StatusCode, readResponse(response, out)
}

// transport returns a transport whose connections g checks. It uses no proxy, which would
// connect for it.
func (w World) transport(g guard) *http.Transport {
	dialer := &net.Dialer{Resolver: w.Resolver, Control: g.control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: w.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    time.Minute,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}

// readResponse reads a response, and returns why it is not an answer. It does not wait for
// the rest of a body that is too long.
func readResponse(response *http.Response, out io.Writer) (trouble string) {
	status, from := response.StatusCode, response.Request.URL.Redacted()
	if status == http.StatusSwitchingProtocols {
		// Its body is the connection, which ignores the context.
		return "the server wants to speak another protocol, which hooks do not"
	}
	n, err := io.Copy(out, io.LimitReader(response.Body, MaxBody+1))
	switch {
	case err != nil:
		return webTrouble(err)
	case status >= 300 && status < 400:
		return fmt.Sprintf("HTTP %d from %s: redirects are not followed; write the URL that it leads to",
			status, from)
	case status < 200 || status > 299:
		return fmt.Sprintf("HTTP %d from %s", status, from)
	case n > MaxBody:
		return fmt.Sprintf("the response is longer than %d bytes, which is too long for an answer", MaxBody)
	}
	return ""
}

// webTrouble returns why a request failed, in the words of recorded hosts if there are any,
// and without the URL, which is shown next to it.
func webTrouble(err error) string {
	var blocked *blockedError
	var name *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &blocked):
		return blocked.text
	case errors.As(err, &name) && name.IsNotFound:
		return "getaddrinfo ENOTFOUND " + name.Name
	case errors.As(err, &name):
		return fmt.Sprintf("getaddrinfo EAI_AGAIN %s (%s)", name.Name, name.Err)
	case errors.As(err, &op) && errnoName(op) != "":
		return errnoName(op)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "socket hang up"
	}
	if of := (*url.Error)(nil); errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}
