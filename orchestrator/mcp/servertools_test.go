package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
)

// badServerName, set in the environment, makes the test binary a program that is no MCP server; its
// value says how it behaves.
const badServerName = "ORCHESTRATOR_TEST_BAD_SERVER"

// TestAsBadServer is no test: it is the program that tests start.
func TestAsBadServer(t *testing.T) {
	switch os.Getenv(badServerName) {
	case "":
		t.Skip("started by other tests only")
	case "exits":
		fmt.Fprintln(os.Stderr, "some noise\nno token: set TOKEN")
		os.Exit(4)
	case "talks":
		fmt.Println("Server is listening ...")
		bufio.NewReader(os.Stdin).WriteTo(os.Stderr)
	case "floods":
		line := strings.Repeat("x", 1<<16)
		fmt.Print(`{"jsonrpc": "`)
		for {
			if _, err := fmt.Print(line); err != nil {
				os.Exit(5)
			}
		}
	case "silent":
		bufio.NewReader(os.Stdin).WriteTo(os.Stderr)
	}
	os.Exit(0)
}

// clientRig is the servers of a team, with what people are told of them.
type clientRig struct {
	t *testing.T
	*Clients

	mu    sync.Mutex
	said  []string
	fired []hooks.Payload
	// answer is what the hooks on an event say; nil: nothing.
	answer func(hooks.Payload) hooks.Outcome
}

// newClientRig makes the servers of a team. after is the clock of pauses; nil: they end at once.
func newClientRig(t *testing.T, after func(time.Duration) <-chan time.Time, list ...settings.Server) *clientRig {
	t.Helper()
	r := &clientRig{t: t}
	if after == nil {
		after = func(time.Duration) <-chan time.Time {
			over := make(chan time.Time)
			close(over)
			return over
		}
	}
	r.Clients = NewClients(ClientDeps{
		Workspace: t.TempDir(), Environ: os.Environ(), Clock: members.Clock{TimeAfter: after}, FirstWait: time.Minute,
		Started: func(int) func() { return nil },
		Key: func(file string) (string, error) {
			key, err := os.ReadFile(file)
			return string(key), err
		},
		Warn: func(format string, args ...any) {
			text := fmt.Sprintf(format, args...)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.said = append(r.said, text)
		},
		Fire: func(_ context.Context, _ string, p hooks.Payload) (hooks.Outcome, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.fired = append(r.fired, p)
			if r.answer == nil {
				return hooks.Outcome{Decision: hooks.Pass}, nil
			}
			return r.answer(p), nil
		},
	}, list)
	t.Cleanup(r.Close)
	return r
}

// reports returns what people were told so far.
func (r *clientRig) reports() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

// awaitReport waits until people are told something with these words.
func (r *clientRig) awaitReport(words string) {
	r.t.Helper()
	testkit.Eventually(r.t, "a report of "+words, func() bool { return strings.Contains(r.reports(), words) })
}

// tools returns the tools of a member that has all of them, by name.
func (r *clientRig) tools() map[string]agent.Tool {
	r.t.Helper()
	byName := map[string]agent.Tool{}
	for _, tool := range r.Tools(r.t.Context(), "dev", func(string) bool { return true }) {
		byName[tool.Spec().Name] = tool
	}
	return byName
}

// use calls a tool of a member.
func (r *clientRig) use(tool, input string) agent.ToolResult {
	r.t.Helper()
	found, ok := r.tools()[tool]
	if !ok {
		r.t.Fatalf("the member has no tool %s, but %v; people were told:\n%s", tool, keysOf(r.tools()), r.reports())
	}
	return found.Run(r.t.Context(), agent.ToolCall{ID: "c1", Name: tool, Input: json.RawMessage(input)})
}

func keysOf(tools map[string]agent.Tool) []string {
	var names []string
	for name := range tools {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// rigProgram is the rig's server as a program.
func rigProgram(t *testing.T, name string) settings.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return settings.Server{
		Name: name, Command: []string{self, "-test.run=^TestAsMCPServer$"}, Env: map[string]string{hookServerName: "1"},
	}
}

// badProgram is a program that is no server.
func badProgram(t *testing.T, name, how string) settings.Server {
	t.Helper()
	s := rigProgram(t, name)
	s.Command[1], s.Env = "-test.run=^TestAsBadServer$", map[string]string{badServerName: how}
	return s
}

// serveWeb serves an MCP server over HTTP on loopback.
func serveWeb(t *testing.T, server *sdk.Server) *httptest.Server {
	t.Helper()
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web
}

// anyTool adds a tool that takes anything.
func anyTool(s *sdk.Server, tool sdk.Tool, run sdk.ToolHandler) {
	tool.InputSchema = map[string]any{"type": "object", "$schema": "http://json-schema.org/draft-07/schema#",
		"properties": map[string]any{"file_path": map[string]any{"type": "string"}}}
	s.AddTool(&tool, run)
}

// saying returns a handler that answers a text.
func saying(text string) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
}

// TestServerTools: the tools of two servers, a program and an HTTP server, reach a member under names
// that providers allow, and what they answer is text.
func TestServerTools(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "odd", Version: "1"}, nil)
	anyTool(server, sdk.Tool{
		Name: "echo", Description: "says web", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, saying("web"))
	anyTool(server, sdk.Tool{Name: "a.b"}, saying("dot"))
	anyTool(server, sdk.Tool{Name: "a_b"}, saying("line"))
	anyTool(server, sdk.Tool{Name: "long-" + strings.Repeat("x", 80)}, saying("long"))
	anyTool(server, sdk.Tool{Name: "huge"}, saying(strings.Repeat("é", 1<<20)))
	anyTool(server, sdk.Tool{Name: "mixed"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "first\xff"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("12")}, &sdk.ResourceLink{URI: "file:///a", Name: "a"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:t", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:b", MIMEType: "x/y", Blob: []byte("123")}},
		}, StructuredContent: map[string]any{"n": 1}}, nil
	})
	anyTool(server, sdk.Tool{Name: "twice"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		text := &sdk.TextContent{Text: `{ "n": 1 }`}
		return &sdk.CallToolResult{Content: []sdk.Content{text}, StructuredContent: map[string]any{"n": 1}}, nil
	})
	r := newClientRig(t, nil, rigProgram(t, "rig"), settings.Server{Name: "web", URL: serveWeb(t, server).URL})
	names := keysOf(r.tools())
	for _, name := range names {
		if len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("no provider takes the name %s", name)
		}
	}
	var dotted, long string
	for _, name := range names {
		if strings.HasPrefix(name, "mcp__web__a_b_") {
			dotted = name
		} else if strings.HasPrefix(name, "mcp__web__long-") {
			long = name
		}
	}
	for tool, want := range map[string]string{
		"mcp__web__echo": "web", dotted: "dot", "mcp__web__a_b": "line", long: "long", "mcp__web__twice": `{ "n": 1 }`,
		"mcp__web__mixed": "first\uFFFD\n[an image, image/png, which cannot be shown: it is no PNG, JPEG, GIF or WebP image]\n" +
			"[a sound, audio/wav, 2 bytes, which cannot be played here]\n[the resource file:///a: a]\n[the resource x:t]\ninside\n" +
			"[the resource x:b, x/y, 3 bytes, which cannot be shown here]\n{\"n\":1}",
	} {
		if got := r.use(tool, `{"file_path": "a"}`); got.IsError || got.Content != want {
			t.Errorf("%s says %+v, want %q", tool, got, want)
		}
	}
	if got := r.use("mcp__rig__echo", `{"x":"hello"}`); got.IsError || !strings.HasPrefix(got.Content, "hello\n") ||
		!strings.HasPrefix(string(got.Response), `[{"type":"text","text":"hello`) {
		t.Errorf("the program says %+v, %s", got, got.Response)
	}
	if got := r.use("mcp__rig__fail", `{}`); !got.IsError || got.Content != "it is broken" || got.Response != nil {
		t.Errorf("a tool that fails says %+v", got)
	}
	if got := r.use("mcp__web__huge", `{}`); got.IsError || len([]rune(got.Content)) > maxText ||
		!strings.Contains(got.Content, "left out") {
		t.Errorf("a huge result has %d characters", len([]rune(got.Content)))
	}
	echo := r.tools()["mcp__web__echo"]
	spec := echo.Spec()
	if spec.ReadOnly || !spec.Hinted || spec.Server != "web" || spec.Description != "says web" ||
		string(spec.Schema) != `{"properties":{"file_path":{"type":"string"}},"type":"object"}` {
		t.Errorf("the spec is %+v, %s", spec, spec.Schema)
	}
	if n := echo.(agent.Normalizer).Normalize(json.RawMessage(`{"file_path":"a"}`)); string(n) != `{"file_path":"a"}` {
		t.Errorf("what is no path of this machine became %s", n)
	}
	only := r.Tools(t.Context(), "dev", func(tool string) bool { return tool == "mcp__rig__echo" })
	if len(only) != 1 || r.reports() != "" {
		t.Errorf("a member with one tool has %d; people were told %q", len(only), r.reports())
	}
	if states := r.States(); len(states) != 2 || states[1] != (api.ServerStatus{Name: "web", State: api.ServerConnected, Tools: 7}) {
		t.Errorf("the servers are %+v", states)
	}
}

// TestServerToolsChange: a list that has changed is taken up by the next request.
func TestServerToolsChange(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "changing", Version: "1"}, nil)
	anyTool(server, sdk.Tool{Name: "one"}, saying("1"))
	r := newClientRig(t, nil, settings.Server{Name: "web", URL: serveWeb(t, server).URL})
	if got := keysOf(r.tools()); !slices.Equal(got, []string{"mcp__web__one"}) {
		t.Fatal(got)
	}
	anyTool(server, sdk.Tool{Name: "two"}, saying("2"))
	server.RemoveTools("one")
	testkit.Eventually(t, "the changed list", func() bool { return slices.Equal(keysOf(r.tools()), []string{"mcp__web__two"}) })
	if got := r.use("mcp__web__two", `{}`); got.Content != "2" {
		t.Error(got)
	}
	r.Replace(nil)
	if got := r.tools(); len(got) != 0 {
		t.Errorf("a team without servers has %v", keysOf(got))
	}
}

// TestServerDies: the call during which a server ends fails with one line, the server is started again
// at once, and, if it keeps ending, after pauses. Its tools stay, and say what is wrong.
func TestServerDies(t *testing.T) {
	pauses, wake := make(chan time.Duration, 8), make(chan time.Time)
	r := newClientRig(t, func(d time.Duration) <-chan time.Time {
		if d == 0 {
			over := make(chan time.Time)
			close(over)
			return over
		}
		pauses <- d
		return wake
	}, rigProgram(t, "rig"))
	die := r.tools()["mcp__rig__die"]
	kill := func() string {
		got := die.Run(t.Context(), agent.ToolCall{ID: "c", Name: "mcp__rig__die", Input: json.RawMessage(`{}`)})
		if !got.IsError || strings.Contains(got.Content, "\n") {
			t.Errorf("a call that ends its server says %+v", got)
		}
		return got.Content
	}
	kill()
	if got := r.use("mcp__rig__echo", `{}`); got.IsError {
		t.Errorf("after its end: %+v", got)
	}
	r.awaitReport("MCP server rig is not connected: its program ended: exit status 3; covey connects again at once")
	r.awaitReport("MCP server rig is connected again")
	kill()                   // it had answered since
	_, _ = r.tools(), kill() // it had not
	for _, want := range []time.Duration{time.Second, 2 * time.Second} {
		if got := <-pauses; got != want {
			t.Fatalf("the pause is %s, want %s", got, want)
		}
		if said := kill(); !strings.Contains(said, "MCP server 'rig' not connected: its program ended: exit status 3") {
			t.Errorf("while it is down a call says %q", said)
		}
		if len(r.tools()) == 0 {
			t.Error("the tools of a server that is down are gone")
		}
		if s := r.States()[0]; s.State != api.ServerDown || s.Why == "" {
			t.Errorf("it is down: %+v", s)
		}
		wake <- time.Time{}
		testkit.Eventually(t, "the server", func() bool { return r.States()[0].State == api.ServerConnected })
		kill()
	}
}

// TestBadServers: what is no MCP server is reported once, with what it says, and keeps nobody waiting.
func TestBadServers(t *testing.T) {
	never := func(time.Duration) <-chan time.Time { return nil }
	for how, want := range map[string]string{
		"exits":  "its program ended: exit status 4; its last words: some noise no token: set TOKEN",
		"talks":  "invalid character 'S'",
		"floods": "not connected",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newClientRig(t, never, badProgram(t, "bad", how))
			if got := r.tools(); len(got) != 0 {
				t.Errorf("it has %v", keysOf(got))
			}
			r.awaitReport(want)
			if said := r.reports(); strings.Count(said, "\n") > 0 {
				t.Errorf("people were told:\n%s", said)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		r := newClientRig(t, never, settings.Server{Name: "bad", Command: []string{"no-such-program"}}, rigProgram(t, "rig"))
		if got := r.tools(); got["mcp__rig__echo"] == nil {
			t.Errorf("a server that is missing keeps those of others away: %v", keysOf(got))
		}
		r.awaitReport("no-such-program is not on the PATH")
	})
}

// TestSlowServer: a server that is slow keeps a member waiting once, and not for long.
func TestSlowServer(t *testing.T) {
	r := newClientRig(t, nil, badProgram(t, "slow", "silent"))
	r.FirstWait = time.Nanosecond
	for range 3 {
		if got := r.tools(); len(got) != 0 {
			t.Errorf("it has %v", keysOf(got))
		}
	}
	if said := r.reports(); strings.Count(said, "still being connected") != 1 {
		t.Errorf("people were told:\n%s", said)
	}
	if s := r.States()[0]; s.State != api.ServerConnecting {
		t.Errorf("it is %+v", s)
	}
}

// TestAwait: a call of a tool that is not listed yet waits for its server, and for no other.
func TestAwait(t *testing.T) {
	may := make(chan struct{})
	server := sdk.NewServer(&sdk.Implementation{Name: "late", Version: "1"}, nil)
	anyTool(server, sdk.Tool{Name: "echo"}, saying("x"))
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-may:
			handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	never := func(time.Duration) <-chan time.Time { return nil }
	r := newClientRig(t, never, settings.Server{Name: "late", URL: web.URL},
		settings.Server{Name: "gone", Command: []string{"no-such-program"}})
	r.FirstWait, r.patience = time.Nanosecond, time.Nanosecond
	err := r.Await(t.Context(), "mcp__late__echo")
	if len(r.tools()) != 0 || err == nil || !strings.Contains(err.Error(), "MCP server 'late' not connected: it is still being connected after 1ns") {
		t.Errorf("a server that is slow: %v", err)
	}
	if err := r.Await(t.Context(), "mcp__other__echo"); err != nil {
		t.Errorf("no server's tool: %v", err)
	}
	r.patience = time.Minute
	if err := r.Await(t.Context(), "mcp__gone__echo"); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("a server that is down: %v", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Await(stopped, "mcp__late__echo"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- r.Await(t.Context(), "mcp__late__echo") }()
	close(may)
	if err := <-waited; err != nil || r.tools()["mcp__late__echo"] == nil {
		t.Errorf("once it is connected: %v, %v", err, keysOf(r.tools()))
	}
}

// TestManyTools: a list without an end is cut.
func TestManyTools(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, &sdk.ServerOptions{PageSize: 100})
	for i := range maxTools + 50 {
		anyTool(server, sdk.Tool{Name: fmt.Sprintf("t%03d", i), Description: strings.Repeat("d", 5000)}, saying("x"))
	}
	r := newClientRig(t, nil, settings.Server{Name: "web", URL: serveWeb(t, server).URL})
	if got := len(r.tools()); got > maxTools || got < 100 {
		t.Errorf("it has %d tools", got)
	}
	r.awaitReport("has more than 256 tools")
	r.awaitReport("are longer than 1 MiB")
}

// TestCancelReachesServer: a call that is interrupted ends on the server, too.
func TestCancelReachesServer(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	server := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, nil)
	anyTool(server, sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	r := newClientRig(t, nil, settings.Server{Name: "web", URL: serveWeb(t, server).URL})
	tool := r.tools()["mcp__web__wait"]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan agent.ToolResult)
	go func() { done <- tool.Run(ctx, agent.ToolCall{ID: "c", Input: json.RawMessage(`{}`)}) }()
	<-began
	cancel()
	if got := <-done; !got.IsError {
		t.Errorf("it says %+v", got)
	}
	<-ended
}

// TestServerKey: the key goes along with each request, is read anew each time, and is not sent to
// another host.
func TestServerKey(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "keyed", Version: "1"}, nil)
	anyTool(server, sdk.Tool{Name: "hello"}, saying("hello"))
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	var mu sync.Mutex
	key := "first"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		want := "Bearer " + key
		mu.Unlock()
		if r.Header.Get("Authorization") != want || r.Header.Get("X-Team") != "a" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	file := t.TempDir() + "/key"
	testkit.Must(t, os.WriteFile(file, []byte("first"), 0o600))
	r := newClientRig(t, nil, settings.Server{Name: "web", URL: web.URL, KeyFile: file, Headers: map[string]string{"X-Team": "a"}})
	if got := r.use("mcp__web__hello", `{}`); got.Content != "hello" {
		t.Error(got)
	}
	testkit.Must(t, os.WriteFile(file, []byte("second"), 0o600))
	mu.Lock()
	key = "second"
	mu.Unlock()
	if got := r.use("mcp__web__hello", `{}`); got.Content != "hello" {
		t.Error(got)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, web.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(elsewhere.Close)
	r.Replace([]settings.Server{{Name: "web", URL: elsewhere.URL, KeyFile: file, Headers: map[string]string{"X-Team": "a"}}})
	if got := r.tools(); len(got) != 0 {
		t.Errorf("another host was asked: %v", keysOf(got))
	}
	r.awaitReport("the server redirects to " + web.URL)
}

// yourName is what the server of these tests asks.
func yourName() *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: "your name?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
	}}
}

// askingServer is a server with a tool that asks a person, and says what was answered.
func askingServer(ask *sdk.ElicitParams) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, nil)
	anyTool(server, sdk.Tool{Name: "ask"}, func(ctx context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, err := q.Session.Elicit(ctx, ask)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(map[string]any{"action": answer.Action, "content": answer.Content})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, err
	})
	return server
}

// TestElicitationOfPeople: what no hook answers goes to a person, with the form, in the name of the member
// whose call runs; a page to visit does not. The hooks on the result read what was answered.
func TestElicitationOfPeople(t *testing.T) {
	page := &sdk.ElicitParams{Mode: "url", Message: "your name?", URL: "https://words.test/form", ElicitationID: "e1"}
	for name, tc := range map[string]struct {
		ask       *sdk.ElicitParams
		action    string
		values    map[string]any
		err       error
		want      string
		hook, say string // what the hooks on the result read, and people are told
	}{
		"filled in": {yourName(), "accept", map[string]any{"name": "Ana"}, nil, `{"action":"accept","content":{"name":"Ana"}}`,
			`"action":"accept","content":{"name":"Ana"}`, ""},
		"declined": {yourName(), "decline", nil, nil, `{"action":"decline","content":null}`, `"action":"decline"}`, ""},
		"late":     {yourName(), "cancel", nil, nil, `{"action":"cancel","content":null}`, `"action":"cancel"}`, ""},
		"unfit": {yourName(), "", nil, errors.New("it may be a secret"), `{"action":"cancel","content":null}`, `"action":"cancel"}`,
			"MCP server web asks: your name?; no Elicitation hook has answered and no person can be asked (it may be a secret), " +
				"so the answer is cancel"},
		"page": {page, "accept", nil, nil, `{"action":"cancel","content":null}`, `"action":"cancel"}`, "it wants a page to be visited"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newClientRig(t, nil, settings.Server{Name: "web", URL: serveWeb(t, askingServer(tc.ask)).URL})
			r.Ask = func(_ context.Context, member, text string, schema json.RawMessage) (string, map[string]any, error) {
				if member != "dev" || text != "MCP server web asks, for a call of dev: your name?" || !strings.Contains(string(schema), `"name"`) {
					t.Errorf("a person is asked %q for %s: %s", text, member, schema)
				}
				return tc.action, tc.values, tc.err
			}
			if got := r.use("mcp__web__ask", `{}`); got.Content != tc.want {
				t.Errorf("the server got %q, want %q", got.Content, tc.want)
			}
			in, err := json.Marshal(r.fired[1])
			if err != nil || !strings.Contains(string(in), tc.hook) {
				t.Errorf("the hooks on the result got %s, want %s", in, tc.hook)
			}
			if told := r.reports(); !strings.Contains(told, tc.say) || (told == "") != (tc.say == "") {
				t.Errorf("people were told %q, want %q", told, tc.say)
			}
		})
	}
}

// TestElicitationEndsWithItsCall: a person is asked no longer than the call runs.
func TestElicitationEndsWithItsCall(t *testing.T) {
	r := newClientRig(t, nil, settings.Server{Name: "web", URL: serveWeb(t, askingServer(yourName())).URL})
	asked, gone := make(chan struct{}), make(chan error)
	r.Ask = func(ctx context.Context, _, _ string, _ json.RawMessage) (string, map[string]any, error) {
		close(asked)
		<-ctx.Done()
		gone <- ctx.Err()
		return "", nil, ctx.Err()
	}
	tool := r.tools()["mcp__web__ask"]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan agent.ToolResult)
	go func() { done <- tool.Run(ctx, agent.ToolCall{ID: "c", Input: json.RawMessage(`{}`)}) }()
	<-asked
	cancel()
	if got := <-done; !got.IsError {
		t.Errorf("a call that was cancelled says %+v", got)
	}
	if err := <-gone; err == nil {
		t.Error("the person is still asked")
	}
}

// TestElicitation: hooks answer what a server asks; otherwise the answer is cancel, and the hooks on the
// result may change it.
func TestElicitation(t *testing.T) {
	server := askingServer(yourName())
	says := func(fields map[string]string) hooks.Outcome {
		out := hooks.Outcome{Decision: hooks.Pass, Output: map[string]json.RawMessage{}}
		for name, value := range fields {
			out.Output[name] = json.RawMessage(value)
		}
		return out
	}
	accept := says(map[string]string{"action": `"accept"`, "content": `{"name":"fromhook"}`})
	wrong := says(map[string]string{"action": `"accept"`, "content": `{"age":1}`})
	decline := says(map[string]string{"action": `"decline"`, "content": `{"name":"x"}`})
	nothing := says(nil)
	const accepted, declined = `{"action":"accept","content":{"name":"fromhook"}}`, `{"action":"decline","content":null}`
	asked := []hooks.Event{hooks.Elicitation}
	all := []hooks.Event{hooks.Elicitation, hooks.ElicitationResult, hooks.Notification}
	for name, tc := range map[string]struct {
		asked, result hooks.Outcome
		want          string
		fired         []hooks.Event
		told          bool
	}{
		"accepted":    {accept, nothing, accepted, asked, false},
		"no hook":     {nothing, nothing, `{"action":"cancel","content":null}`, all, true},
		"changed":     {nothing, accept, accepted, all, true},
		"blocked":     {hooks.Outcome{Decision: hooks.Block}, nothing, declined, asked, false},
		"wrong form":  {wrong, nothing, "does not match requested schema", asked, false},
		"not content": {decline, nothing, declined, asked, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newClientRig(t, nil, settings.Server{Name: "web", URL: serveWeb(t, server).URL})
			r.answer = func(p hooks.Payload) hooks.Outcome {
				if p.Event() == hooks.Elicitation {
					return tc.asked
				}
				return tc.result
			}
			if got := r.use("mcp__web__ask", `{}`); !strings.Contains(got.Content, tc.want) {
				t.Errorf("the server got %q, want %q", got.Content, tc.want)
			}
			var fired []hooks.Event
			for _, p := range r.fired {
				fired = append(fired, p.Event())
			}
			in, err := json.Marshal(r.fired[0])
			if want := `{"mcp_server_name":"web","message":"your name?","mode":"form","requested_schema":` +
				`{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"}}`; err != nil || string(in) != want {
				t.Errorf("the hooks got %s, want %s", in, want)
			}
			if !slices.Equal(fired, tc.fired) || strings.Contains(r.reports(), "your name?") != tc.told {
				t.Errorf("fired: %v; people were told %q", fired, r.reports())
			}
		})
	}
}
