package mcp

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
)

// maxReply bounds a JSON body, as the SDK bounds a message on a stream.
const maxReply = sdk.DefaultMaxLineLength

// dial starts the server's program, or connects to its URL. Nothing is left of an attempt that fails.
func (c *client) dial(ctx context.Context) (*life, error) {
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	l := &life{lost: make(chan struct{}), callers: map[string]*calling{}}
	l.stale.Store(true)
	options := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.stale.Store(true) },
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return c.elicit(ctx, l, r.Params), nil
		},
	}
	transport, err := c.transport(l)
	if err != nil {
		return nil, err
	}
	l.session, err = sdk.NewClient(&sdk.Implementation{Name: "covey", Title: "covey", Version: "1"}, options).
		Connect(limited, transport, nil)
	switch {
	case err == nil:
		return l, nil
	case limited.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("it did not answer within %s", serverTimeout)
	}
	if l.program != nil {
		err = endProgram(l.program, err)
	}
	return nil, err
}

// transport returns the transport of a new connection; a program has been started for it.
func (c *client) transport(l *life) (sdk.Transport, error) {
	if len(c.Command) == 0 {
		return &sdk.StreamableClientTransport{
			Endpoint: c.URL, HTTPClient: &http.Client{Transport: webRequests{c}, CheckRedirect: sameHost},
			DisableStandaloneSSE: c.Plugin != "", // hooks need no lists of tools
		}, nil
	}
	var err error
	l.program, err = c.startProgram()
	if err != nil {
		return nil, err
	}
	return &sdk.IOTransport{Reader: io.NopCloser(l.program.Stdout), Writer: l.program.Stdin}, nil
}

// sameHost refuses redirects to another host, which nobody has trusted.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > 5 {
		return fmt.Errorf("the server redirects to %s; name that URL in the spec if it is right", r.URL.Redacted())
	}
	return nil
}

// webRequests makes the HTTP requests to a server: with its headers and its key, which is read each
// time so that it can be replaced.
type webRequests struct{ *client }

// RoundTrip implements http.RoundTripper.
func (c webRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range c.Headers {
		r.Header.Set(name, value)
	}
	if c.KeyFile != "" {
		key, err := c.team.Key(c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("its key file: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
	}
	// A stream is bounded by message, by the SDK; it may be open for days.
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		response.Body = http.MaxBytesReader(nil, response.Body, maxReply)
	}
	return response, err
}

// startProgram starts the server's program. Its process session is its own, which identifies it and its
// children, and keeps a Ctrl-C in the terminal from it.
func (c *client) startProgram() (*program.Process, error) {
	environ := slices.Clone(c.team.Environ)
	var box *sandbox.Box
	if c.team.Box != nil {
		var more []string
		var err error
		if box, more, err = c.team.Box(); err != nil {
			return nil, err
		}
		environ = append(environ, more...)
	}
	for name, value := range c.Env {
		environ = append(environ, name+"="+value)
	}
	return program.Start(program.ProcessOptions{
		Command: c.Command, Dir: cmp.Or(c.Cwd, c.Root, c.team.Workspace), Env: environ, Grace: serverGrace,
		Started: c.team.Started, Box: box,
	})
}

// endProgram ends a server's program with all that it has started, as MCP asks: it closes stdin first.
// It returns why, with what the program itself says.
func endProgram(p *program.Process, why error) error {
	alone := false
	select { // a program that ends closes its output first
	case <-p.Ended:
		alone = true
	case <-time.After(serverGrace / 4):
	}
	_ = p.Stdin.Close() // the session may have done so
	select {
	case <-p.Ended:
	case <-time.After(serverGrace):
	}
	p.Stop()
	_ = p.Stdout.Close()
	said := strings.Join(strings.Fields(texts.Middle(p.Summary(), 300)), " ")
	switch {
	case alone && why != nil:
		return fmt.Errorf("its program ended: %s (%w)", said, why)
	case alone:
		return fmt.Errorf("its program ended: %s", said)
	case why == nil:
		return nil
	}
	return fmt.Errorf("%w (program: %s)", why, said)
}
