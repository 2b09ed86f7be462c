package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bearer sends a token with every request.
type Bearer struct {
	Token string
	Next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b Bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.Token)
	return b.Next.RoundTrip(r)
}

// MCPAgent is the MCP client of a member's agent.
type MCPAgent struct {
	T testing.TB
	*mcp.ClientSession
}

// DialMCP connects an agent to the tools of a team.
func DialMCP(t testing.TB, url, token string) MCPAgent {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: url, HTTPClient: &http.Client{Transport: Bearer{token, transport}}, MaxRetries: -1,
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the team may have ended before
	return MCPAgent{t, session}
}

// MCPAnswer is an answer in both forms.
type MCPAnswer struct {
	Text       string
	Structured string
	IsError    bool
}

// Use calls a tool; args is JSON, request is the optional id of the call.
func (a MCPAgent) Use(tool, args string, request ...string) MCPAnswer {
	a.T.Helper()
	f, err := a.Try(a.T.Context(), tool, args, request...)
	if err != nil {
		a.T.Fatalf("%s %s: %v", tool, args, err)
	}
	return f
}

// Try is Use for calls that may fail.
func (a MCPAgent) Try(ctx context.Context, tool, args string, request ...string) (MCPAnswer, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
	if len(request) > 0 {
		params.Meta = mcp.Meta{"covey/requestId": request[0]}
	}
	result, err := a.CallTool(ctx, params)
	if err != nil {
		return MCPAnswer{}, err
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return MCPAnswer{}, err
	}
	f := MCPAnswer{IsError: result.IsError, Structured: string(structured)}
	for _, c := range result.Content {
		f.Text += c.(*mcp.TextContent).Text
	}
	return f, nil
}

// Want checks that both forms of an answer contain these words.
func (f MCPAnswer) Want(t testing.TB, isError bool, words ...string) {
	t.Helper()
	if f.IsError != isError {
		t.Errorf("the answer is an error: %v, want %v: %s", f.IsError, isError, f.Text)
	}
	for _, w := range words {
		text, err := json.Marshal(w)
		Must(t, err)
		quoted := strings.Trim(string(text), `"`)
		if !strings.Contains(f.Text, w) || !strings.Contains(f.Structured, quoted) {
			t.Errorf("%q is not in both forms of the answer:\n%s\n%s", w, f.Text, f.Structured)
		}
	}
}

// Bodies of requests to an MCP server over HTTP.
const (
	Hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ListTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// NewPost returns a request to an MCP server.
func NewPost(ctx context.Context, url, token, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

// Send sends a request over its own connection and reads the answer.
func Send(t testing.TB, req *http.Request) *http.Response {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}

// Post sends a request to an MCP server.
func Post(ctx context.Context, t testing.TB, url, token, body string) *http.Response {
	t.Helper()
	return Send(t, NewPost(ctx, url, token, body))
}
