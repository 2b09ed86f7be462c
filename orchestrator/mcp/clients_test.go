package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/process"
)

// hookServerName, set in the environment, makes the test binary an MCP server.
const hookServerName = "ORCHESTRATOR_TEST_MCP_SERVER"

// rigServer is an MCP server with a tool that answers, one that fails, one that
// hangs, and one that ends the program.
func rigServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "rig", Version: "1"}, nil)
	type in struct {
		X string `json:"x,omitempty"`
	}
	say := func(texts ...string) *sdk.CallToolResult {
		r := &sdk.CallToolResult{}
		for _, text := range texts {
			r.Content = append(r.Content, &sdk.TextContent{Text: text})
		}
		return r
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in in,
	) (*sdk.CallToolResult, any, error) {
		dir, err := os.Getwd()
		return say(in.X, os.Getenv("RIG_WORD"), filepath.Base(dir)), nil, err
	})
	sdk.AddTool(server, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, in,
	) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("it is broken")
	})
	sdk.AddTool(server, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ in,
	) (*sdk.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(server, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, in,
	) (*sdk.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "picture"}, func(context.Context, *sdk.CallToolRequest, in,
	) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png",
			Data: []byte("x")}}}, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "breed"}, func(context.Context, *sdk.CallToolRequest, map[string]any,
	) (*sdk.CallToolResult, any, error) {
		pids := []string{strconv.Itoa(os.Getpid())}
		for _, script := range []string{"sleep 600 & echo $!", "setsid sleep 600 >/dev/null & echo $!"} {
			out, err := exec.Command("sh", "-c", "exec 2>/dev/null; ("+script+") | head -n 1").Output()
			if err != nil {
				return nil, nil, err
			}
			pids = append(pids, strings.TrimSpace(string(out)))
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(pids, " ")}}}, nil, nil
	})
	return server
}

// TestAsMCPServer is no test: it is the server that tests start.
func TestAsMCPServer(t *testing.T) {
	if os.Getenv(hookServerName) == "" {
		t.Skip("started by other tests only")
	}
	_ = rigServer().Run(context.Background(), &sdk.StdioTransport{})
	os.Exit(0)
}

// rigServers are servers for a test: a program, and an HTTP server that wants a
// header.
func rigServers(t *testing.T) *Clients {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return rigServer() }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Word") != "please" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	root := filepath.Join(t.TempDir(), "plugin")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	processes := process.New(process.Unmarked)
	servers := NewClients(ClientDeps{
		Workspace: root, Environ: os.Environ(), Warn: func(string, ...any) {},
		Started: func(pid int) func() { return processes.Register(pid, process.Owner{Kind: process.Hook}) },
	}, []settings.Server{
		{Name: "plugin:p:rig", Root: root, Command: []string{self, "-test.run=^TestAsMCPServer$"},
			Env: map[string]string{hookServerName: "1", "RIG_WORD": "word"}},
		{Name: "plugin:p:web", URL: web.URL, Headers: map[string]string{"X-Word": "please"}},
		{Name: "plugin:p:shut", URL: web.URL},
		{Name: "plugin:p:gone", Root: root, Command: []string{filepath.Join(root, "nobody")}},
	})
	t.Cleanup(func() {
		servers.Close()
		if _, err := rigCall(context.Background(), servers, "plugin:p:rig", "echo"); !errors.Is(err, errEnding) {
			t.Errorf("a call after the end: %v", err)
		}
	})
	return servers
}

// rigReply is what a call of a tool of the rig returns: its texts, and whether something else is
// among its content.
type rigReply struct {
	Text    string
	IsError bool
	Other   bool
}

// rigCall calls a tool of the rig.
func rigCall(ctx context.Context, servers *Clients, server, tool string) (rigReply, error) {
	result, err := servers.CallTool(ctx, server, tool, json.RawMessage(`{"x":"hello"}`))
	if err != nil {
		return rigReply{}, err
	}
	reply := rigReply{IsError: result.IsError}
	var texts []string
	for _, content := range result.Content {
		text, ok := content.(*sdk.TextContent)
		if !ok {
			reply.Other = true
			continue
		}
		texts = append(texts, text.Text)
	}
	reply.Text = strings.Join(texts, "\n")
	return reply, nil
}

func TestHookServers(t *testing.T) {
	servers := rigServers(t)
	for _, tc := range []struct {
		server, tool, text string
		failed, other      bool
	}{
		{"plugin:p:rig", "echo", "hello\nword\nplugin", false, false},
		{"plugin:p:rig", "fail", "it is broken", true, false},
		{"plugin:p:rig", "picture", "", false, true},
		{"plugin:p:web", "fail", "it is broken", true, false},
		{"plugin:p:web", "picture", "", false, true},
	} {
		reply, err := rigCall(t.Context(), servers, tc.server, tc.tool)
		if err != nil || reply.Text != tc.text || reply.IsError != tc.failed || reply.Other != tc.other {
			t.Errorf("%s, %s: %+v, %v", tc.server, tc.tool, reply, err)
		}
	}
	for server, want := range map[string]string{
		"rig": "MCP server 'rig' not connected", "plugin:p:gone": "nobody", "plugin:p:shut": "not connected",
	} {
		_, err := rigCall(t.Context(), servers, server, "echo")
		if !errors.Is(err, runner.ErrNotConnected) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", server, err)
		}
	}
	if _, err := rigCall(t.Context(), servers, "plugin:p:rig", "fly"); err == nil ||
		!strings.Contains(err.Error(), "fly") {
		t.Errorf("a tool that is not there: %v", err)
	}
}

// TestHookServerTrouble: a call that hangs ends with its hook, one that kills the
// server fails, and the next starts it anew.
func TestHookServerTrouble(t *testing.T) {
	t.Parallel()
	servers := rigServers(t)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := rigCall(short, servers, "plugin:p:rig", "hang"); err == nil {
		t.Error("it hung, and answered")
	}
	for range 2 {
		if _, err := rigCall(t.Context(), servers, "plugin:p:rig", "die"); err == nil {
			t.Error("it died, and answered")
		}
		reply, err := rigCall(t.Context(), servers, "plugin:p:rig", "echo")
		if err != nil || !strings.HasPrefix(reply.Text, "hello") {
			t.Errorf("after its death: %+v, %v", reply, err)
		}
	}
}

// TestHookServerStartsOnce: however many hooks ask at once, one program serves.
func TestHookServerStartsOnce(t *testing.T) {
	servers := rigServers(t)
	var mu sync.Mutex
	started, ended := 0, 0
	servers.Started = func(int) func() {
		mu.Lock()
		defer mu.Unlock()
		started++
		return func() { mu.Lock(); ended++; mu.Unlock() }
	}
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, err := rigCall(t.Context(), servers, "plugin:p:rig", "echo"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	servers.Close()
	if started != 1 || ended != 1 {
		t.Errorf("started %d times, ended %d times", started, ended)
	}
}

// TestHookServersReplaced: a server that is the same goes on, one that has changed begins
// anew at once, though a call hangs in it, and one that is gone is ended.
func TestHookServersReplaced(t *testing.T) {
	servers := rigServers(t)
	rig := servers.named("plugin:p:rig")
	ended := make(chan struct{})
	servers.Started = func(int) func() {
		servers.Started = func(int) func() { return nil } // of the one that replaces it
		return func() { close(ended) }
	}
	same := rig.Server
	if _, err := rigCall(t.Context(), servers, same.Name, "echo"); err != nil {
		t.Fatal(err)
	}
	servers.Replace([]settings.Server{same})
	if servers.named(same.Name) != rig {
		t.Error("a server that is the same begins anew")
	}
	if _, err := rigCall(t.Context(), servers, "plugin:p:web", "echo"); !errors.Is(err, runner.ErrNotConnected) {
		t.Errorf("a server that is gone: %v", err)
	}
	hangs, enough := context.WithCancel(t.Context())
	defer enough()
	hung := make(chan error, 1)
	go func() {
		_, err := rigCall(hangs, servers, same.Name, "hang")
		hung <- err
	}()
	other := same
	other.Env = map[string]string{hookServerName: "1", "RIG_WORD": "another word"}
	servers.Replace([]settings.Server{other})
	if reply, err := rigCall(t.Context(), servers, same.Name, "echo"); err != nil ||
		!strings.Contains(reply.Text, "another word") {
		t.Errorf("a server that has changed: %+v, %v", reply, err)
	}
	enough()
	if err := <-hung; err == nil {
		t.Error("a call that hangs was answered")
	}
	servers.retiring.Wait()
	select {
	case <-ended:
	default:
		t.Error("a server that has changed goes on")
	}
}
