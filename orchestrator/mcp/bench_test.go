package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// BenchmarkMCPCall measures what the team tools add to a call over MCP: in one
// run, call by call in turn, against a tool of the SDK that only echoes, and
// against the change of the store that a tool is for. All figures are medians;
// the bar is 1 ms for what is our own.
func BenchmarkMCPCall(b *testing.B) {
	r := benchRig(b)
	url, token, err := r.server.Admit(r.members["dev"], false)
	if err != nil {
		b.Fatal(err)
	}
	team, bare := benchDial(b, url, token), benchDial(b, echoServer(b), "")
	var echo, list, send, store []time.Duration
	for b.Loop() {
		echo = append(echo, testkit.Timed(b, func() error { return benchCall(b.Context(), bare, "echo", `{"text":"x"}`) }))
		list = append(list, testkit.Timed(b, func() error { return benchCall(b.Context(), team, teamtools.ListTool, `{}`) }))
		send = append(send, testkit.Timed(b, func() error { return benchCall(b.Context(), team, teamtools.SendTool, `{"to":"lead","message":"x"}`) }))
		store = append(store, testkit.Timed(b, func() error {
			_, err := r.board.Send(b.Context(), teamtools.Actor{Actor: r.members["dev"].Actor()}, teamtools.SendMessageInput{To: "lead", Message: texts.Encode("x")})
			return err
		}))
	}
	b.ReportMetric(0, "ns/op") // the sum of all four says nothing
	b.ReportMetric(testkit.Micros(testkit.Median(echo)), "µs/echo")
	b.ReportMetric(testkit.Micros(testkit.Median(list)-testkit.Median(echo)), "µs/list-more")
	b.ReportMetric(testkit.Micros(testkit.Median(send)-testkit.Median(echo)-testkit.Median(store)), "µs/send-more")
	b.ReportMetric(testkit.Micros(testkit.Median(store)), "µs/store")
}

// benchRig is a rig whose board holds 20 tasks.
func benchRig(b *testing.B) *rig {
	b.Helper()
	r := newRig(b)
	r.agree() // what gates cost is not the question here
	for i := range 20 {
		if _, err := r.store.Add(b.Context(), actors.Actor{}, []tasks.New{{Subject: fmt.Sprint("task ", i)}}); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

// echoServer is the SDK alone: one tool that gives back what it gets.
func echoServer(b *testing.B) string {
	b.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	b.Cleanup(h.CloseClientConnections)
	b.Cleanup(h.Close)
	return h.URL
}

func benchDial(b *testing.B, url, token string) *sdk.ClientSession {
	b.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(),
		&sdk.StreamableClientTransport{
			Endpoint: url, MaxRetries: -1, DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: testkit.Bearer{Token: token, Next: &http.Transport{}}},
		}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = session.Close() })
	return session
}

func benchCall(ctx context.Context, s *sdk.ClientSession, tool, args string) error {
	r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err == nil && r.IsError {
		return fmt.Errorf("%s: %s", tool, texts.Encode(r))
	}
	return err
}
