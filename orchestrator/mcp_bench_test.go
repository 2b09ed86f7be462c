package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// BenchmarkMCPCall measures what the team tools add to a call over MCP: in one
// run, call by call in turn, against a tool of the SDK that only echoes, and
// against the change of the store that a tool is for. All figures are medians;
// the bar is 1 ms for what is our own.
func BenchmarkMCPCall(b *testing.B) {
	r := benchCrew(b)
	s, _ := r.seating.of("dev")
	url, token, err := r.tools.Admit(s.member, false)
	if err != nil {
		b.Fatal(err)
	}
	team, bare := benchDial(b, url, token), benchDial(b, echoServer(b), "")
	var echo, list, send, store []time.Duration
	for b.Loop() {
		echo = append(echo, timed(b, func() error { return benchCall(b.Context(), bare, "echo", `{"text":"x"}`) }))
		list = append(list, timed(b, func() error { return benchCall(b.Context(), team, teamtools.ListTool, `{}`) }))
		send = append(send, timed(b, func() error { return benchCall(b.Context(), team, teamtools.SendTool, `{"to":"lead","message":"x"}`) }))
		store = append(store, timed(b, func() error {
			_, err := r.board.Send(b.Context(), s.actor(""), teamtools.SendMessageInput{To: "lead", Message: notation.Encode("x")})
			return err
		}))
	}
	b.ReportMetric(0, "ns/op") // the sum of all four says nothing
	b.ReportMetric(micros(median(echo)), "µs/echo")
	b.ReportMetric(micros(median(list)-median(echo)), "µs/list-more")
	b.ReportMetric(micros(median(send)-median(echo)-median(store)), "µs/send-more")
	b.ReportMetric(micros(median(store)), "µs/store")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func timed(b *testing.B, f func() error) time.Duration {
	start := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// benchCrew is a crew with a store and a board that holds 20 tasks, and no
// hooks: what gates cost is not the question here.
func benchCrew(b *testing.B) *crew {
	b.Helper()
	store, err := tasks.Open(b.TempDir()+"/tasks.db", &tasks.Options{MaxUnread: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	c := &crew{store: store, log: slog.New(slog.DiscardHandler)}
	giveBoard(b, c, "lead", "dev")
	for _, name := range []string{"lead", "dev"} {
		session, err := store.Members().Attach(b.Context(), name, func() string { return "session of " + name })
		if err != nil {
			b.Fatal(err)
		}
		s := &seat{crew: c, member: &roster.Member{Member: &configs.Member{}, Session: session}}
		s.member.Name = name
		c.seating.add(s)
	}
	b.Cleanup(func() {
		c.tools.Close()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	for i := range 20 {
		if _, err := store.Add(b.Context(), actors.Actor{}, []tasks.New{{Subject: fmt.Sprint("task ", i)}}); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// echoServer is the SDK alone: one tool that gives back what it gets.
func echoServer(b *testing.B) string {
	b.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	b.Cleanup(h.CloseClientConnections)
	b.Cleanup(h.Close)
	return h.URL
}

func benchDial(b *testing.B, url, token string) *mcp.ClientSession {
	b.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: url, MaxRetries: -1, DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: testkit.Bearer{Token: token, Next: &http.Transport{}}},
		}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = session.Close() })
	return session
}

func benchCall(ctx context.Context, s *mcp.ClientSession, tool, args string) error {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err == nil && r.IsError {
		return fmt.Errorf("%s: %s", tool, notation.Encode(r))
	}
	return err
}
