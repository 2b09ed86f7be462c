package hooks

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
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/wording"
)

// Bounds of an http hook besides its time-out.
const (
	maxResponseHeader = 64 << 10
	bodyPreview       = 200 // characters of a body that was no answer, for people
)

// web is what http hooks use of the world; tests put their own in its place.
type web struct {
	resolver *net.Resolver  // nil: the system's
	roots    *x509.CertPool // nil: the system's
}

// endpoint is an http handler ready to run: all of a call but its body.
type endpoint struct {
	to     *target
	header http.Header
	guard  guard
	fault  string // why it is never called; empty: it is
}

// armHTTP prepares an http handler. What it may call and put into headers is
// decided here, once.
func (r *Runner) armHTTP(source *Source, h *Handler) *endpoint {
	to, err := parseTarget(h.URL)
	if err != nil {
		return &endpoint{fault: err.Error()}
	}
	why, listed := r.limits.url(source.Managed, to)
	may := func(name string) bool { return r.limits.variable(source.Managed, name) }
	return &endpoint{to: to, fault: why,
		header: headersOf(h, may, func(name string) string { return proc.Getenv(r.opts.Env, name) }),
		guard:  guard{local: to.local(), listed: listed || source.Managed}}
}

// reply is what came back.
type reply struct {
	status  int // 0: nothing came
	body    answerCapture
	trouble string // why there is no answer; empty: there is one, or there need be none
}

// describe puts the reply into a Result, as recorded hosts do.
func (rp *reply) describe(v *verdict, limit int) {
	v.ExitCode = -1
	if rp.status != 0 {
		v.ExitCode = rp.status
	}
	v.Stdout, v.Stderr = rp.body.text(limit), rp.trouble
	if note := rp.body.cutNote("the response", limit); note != "" {
		v.warn("%s", note)
	}
}

// runHTTP posts the event to an http handler and reads what it answers (HOOKS.md
// section 3). No status refuses anything: only an answer can.
func (r *run) runHTTP(ctx context.Context, h *armed) (finding, *reply) {
	found := finding{code: -1}
	rp := &reply{body: answerCapture{capture{limit: r.opts.OutputCap}}}
	if h.endpoint.fault != "" {
		rp.trouble = h.endpoint.fault
	} else {
		h.endpoint.call(ctx, r.web, bytes.TrimSuffix(r.wire, []byte("\n")), rp)
	}
	switch {
	case ctx.Err() != nil && rp.trouble != "":
		found.timedOut = true
	case rp.trouble != "":
		found.fault = rp.trouble
	default:
		rp.read(r.known, &found)
	}
	return found, rp
}

// read reads the body of a reply with status 2xx. Its text is an answer or an
// error, and never context for the model.
func (rp *reply) read(known *EventInfo, found *finding) {
	text := strings.TrimSpace(rp.body.text(answerCap))
	found.code = 0
	if text == "" {
		return
	}
	found.answer = readAnswer(known.Event, text, rp.body.dropped > 0)
	if found.answer.fields != nil {
		return
	}
	found.code, found.answer = -1, answer{}
	rp.trouble = "HTTP hook must return JSON, but got non-JSON response body: " +
		wording.Clip(text, bodyPreview)
	found.fault = rp.trouble
}

// call makes one request over a connection of its own, which is closed when it
// returns: no cookies, no proxy, no redirects, and nothing stays behind.
func (e *endpoint) call(ctx context.Context, w web, body []byte, rp *reply) {
	dialer := &net.Dialer{Resolver: w.resolver, Control: e.guard.control}
	transport := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: w.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    time.Minute,
		DisableKeepAlives:      true,
		DisableCompression:     true, // the bytes that are counted are those that came
		MaxResponseHeaderBytes: maxResponseHeader,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.to.url.String(), bytes.NewReader(body))
	if err != nil {
		rp.trouble = webTrouble(err)
		return
	}
	request.Header = e.header.Clone()
	response, err := client.Do(request)
	if err != nil {
		rp.trouble = webTrouble(err)
		return
	}
	defer response.Body.Close()
	rp.take(response)
}

// take reads a response. What is longer than an answer may be is not waited for.
func (rp *reply) take(response *http.Response) {
	rp.status = response.StatusCode
	if rp.status == http.StatusSwitchingProtocols {
		// Its body is the connection, which ends with no context.
		rp.trouble = "the server wants to speak another protocol, which hooks do not"
		return
	}
	n, err := io.Copy(&rp.body, io.LimitReader(response.Body, answerCap+1))
	switch {
	case err != nil:
		rp.trouble = webTrouble(err)
	case rp.status >= 300 && rp.status < 400:
		rp.trouble = fmt.Sprintf("HTTP %d from %s: redirects are not followed; write the URL that it leads to",
			rp.status, response.Request.URL.Redacted())
	case rp.status < 200 || rp.status > 299:
		rp.trouble = fmt.Sprintf("HTTP %d from %s", rp.status, response.Request.URL.Redacted())
	case n > answerCap:
		rp.trouble = fmt.Sprintf("the response is longer than %d bytes, which no answer is", answerCap)
	}
}

// webTrouble says why a request failed, where there is a recorded text for it in
// the words of recorded hosts, and never with the URL, which stands beside it.
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
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "Post ") {
		return inner.Error()
	}
	return err.Error()
}
