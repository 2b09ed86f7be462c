package mcp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// stdio is an agent's end of the streams that a Client serves tools on.
type stdio struct {
	*sdk.ClientSession
	in    *io.PipeReader // what the client sends; closing it hangs up
	out   *io.PipeWriter
	ended chan error // of ServeTools
}

// serveStdio serves a client's tools to an agent.
func serveStdio(t *testing.T, ctx context.Context, c *api.Client) stdio {
	t.Helper()
	return serveStdioTo(t, ctx, c, false)
}

// serveStdioTo is serveStdio for an agent whose member may have to plan.
func serveStdioTo(t *testing.T, ctx context.Context, c *api.Client, mustPlan bool) stdio {
	t.Helper()
	toServer, fromAgent := io.Pipe()
	toAgent, fromServer := io.Pipe()
	s := stdio{in: toAgent, out: fromAgent, ended: make(chan error, 1)}
	go func() {
		s.ended <- mcp.ServeTools(ctx, c, mcp.Streams{In: toServer, Out: fromServer, For: configs.Member{PlanRequired: mustPlan}})
	}()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).
		Connect(t.Context(), &sdk.IOTransport{Reader: toAgent, Writer: fromAgent}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.ClientSession = session
	t.Cleanup(func() { _ = session.Close() })
	return s
}

// end waits for ServeTools to return.
func (s stdio) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(testkit.Patience):
		t.Fatal("ServeTools does not return")
		return nil
	}
}

// toolTeam is a team that answers calls of its tools alone, and notes them.
type toolTeam struct {
	bus    *bus.Bus
	client *api.Client
	calls  chan api.TeamCall
}

// newToolTeam makes a team with a client that it takes for somebody.
func newToolTeam(t *testing.T, by process.Caller) toolTeam {
	t.Helper()
	p, err := state.PlaceIn(t.TempDir(), "crew", t.TempDir())
	testkit.Must(t, err)
	testkit.Must(t, p.Create())
	testkit.Must(t, state.NewRunFile(p, time.Now(), api.Protocol).Write(p))
	b, err := bus.Embed(bus.Options{})
	testkit.Must(t, err)
	f := toolTeam{bus: b, calls: make(chan api.TeamCall, 10)}
	checks := api.Checks{
		Member: func(context.Context, string, any) error { return nil },
		Hook:   func(ctx context.Context, _ process.Caller) (context.Context, error) { return ctx, nil },
	}
	err = api.NewServer().Serve(b, checks, api.VerbTool.Handle(func(_ context.Context, call api.TeamCall) (api.TeamAnswer, error) {
		f.calls <- call
		return api.TeamAnswer{Text: "done", Structured: []byte(`{"done":true}`)}, nil
	}))
	testkit.Must(t, err)
	testkit.Must(t, b.Listen(p.Socket(), func(net.Conn) (bus.Identity, error) { return api.Identity(by), nil }))
	f.client, err = api.Dial(t.Context(), p)
	testkit.Must(t, err)
	t.Cleanup(func() { testkit.Must(t, errors.Join(f.client.Close(), b.Close())) })
	return f
}

// memberAPI is a process of the member api.
var memberAPI = process.Caller{Kind: process.MemberTool, Member: "api", PID: 2}

func TestStdioToolsReachTheTeam(t *testing.T) {
	f := newToolTeam(t, memberAPI)
	s := serveStdio(t, t.Context(), f.client)
	a := testkit.MCPAgent{T: t, ClientSession: s.ClientSession}
	a.Use(teamtools.ClaimTool, `{"taskId":"1"}`, "r1").Want(t, false, "done")
	call := <-f.calls
	if call.Tool != teamtools.ClaimTool || string(call.Input) != `{"taskId":"1"}` || call.Request != "r1" || call.As != "api" {
		t.Errorf("the team was asked for %+v", call)
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 12 {
		t.Errorf("%d tools, %v", len(tools.Tools), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.end(t); err != nil {
		t.Errorf("after the agent hung up: %v", err)
	}
}

// TestStdioOffersPlans: an agent whose member must plan can submit its plan over stdio too.
func TestStdioOffersPlans(t *testing.T) {
	for _, must := range []bool{true, false} {
		f := newToolTeam(t, memberAPI)
		tools, err := serveStdioTo(t, t.Context(), f.client, must).ListTools(t.Context(), nil)
		testkit.Must(t, err)
		if slices.ContainsFunc(tools.Tools, func(o *sdk.Tool) bool { return o.Name == teamtools.PlanTool }) != must {
			t.Errorf("must plan: %v, and is offered %+v", must, tools.Tools)
		}
	}
}

func TestStdioToolsAreForMembers(t *testing.T) {
	for _, by := range []process.Caller{
		{Kind: process.Operator, PID: 1}, {Kind: process.Unowned, PID: 5}, {Kind: process.Hook, PID: 4},
	} {
		f := newToolTeam(t, by)
		a := testkit.MCPAgent{T: t, ClientSession: serveStdio(t, t.Context(), f.client).ClientSession}
		a.Use(teamtools.ListTool, `{}`).Want(t, true, "denied")
		if len(f.calls) > 0 {
			t.Errorf("the team was asked for %+v", <-f.calls)
		}
	}
}

func TestStdioToolsEnd(t *testing.T) {
	t.Run("with the team", func(t *testing.T) {
		f := newToolTeam(t, memberAPI)
		s := serveStdio(t, t.Context(), f.client)
		if err := f.bus.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.end(t); !errors.Is(err, api.ErrNotRunning) {
			t.Errorf("ServeTools returns %v", err)
		}
	})
	t.Run("with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := serveStdio(t, ctx, newToolTeam(t, memberAPI).client)
		cancel()
		if err := s.end(t); !errors.Is(err, context.Canceled) {
			t.Errorf("ServeTools returns %v", err)
		}
	})
	t.Run("with its input", func(t *testing.T) {
		s := serveStdio(t, t.Context(), newToolTeam(t, memberAPI).client)
		if err := s.out.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.end(t); err != nil {
			t.Errorf("ServeTools returns %v", err)
		}
	})
}
