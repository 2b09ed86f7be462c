package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/mcp"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
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
	go func() { s.ended <- mcp.ServeTools(ctx, c, mcp.Streams{In: toServer, Out: fromServer, Plan: mustPlan}) }()
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
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	testkit.Must(t, state.NewRunFile(p, testTime, api.Protocol).Write(p))
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

// A hook that stops the member for good says so in the answer, and the member
// leaves when its turn is over.
func TestHaltOverMCP(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(`tasks: [{id: a, subject: One, owner: dev}]
hooks:
  TaskCompleted:
    - hooks: [{type: command, command: "echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}]
`))
	r.connect("dev").Use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`).Want(t, false, "enough")
	if reason := r.seat("dev").Life.State().Halting; reason != "enough" {
		t.Errorf("dev is to leave because of %q", reason)
	}
	if all := r.stored(); all[0].Status == "completed" {
		t.Error("the task is completed")
	}
}

// Who has left the team cannot act in it, by no way.
func TestGoneMemberHasNoTools(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("keep: true\n"))
	url, token, err := r.rooms.tools.Admit(r.seat("dev").Member, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.rooms.crew.Run(ctx)
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the team ends with %v", err)
		}
	}()
	<-r.rooms.crew.Up()
	if reply, err := r.rooms.crew.EndMember(ctx, api.EndMember{Member: "dev", Now: true, Reason: "it was enough"}); err != nil || !reply.Gone {
		t.Fatalf("dev was ended: %+v, %v", reply, err)
	}
	if code := testkit.Post(t.Context(), t, url, token, testkit.Hello).StatusCode; code != 401 {
		t.Errorf("its token is worth a %d", code)
	}
	a, err := r.rooms.tools.Call(t.Context(), api.TeamCall{Tool: teamtools.CreateTool,
		Input: []byte(`{"subject":"s","description":"d"}`), As: "dev"})
	if err != nil || !a.IsError || !strings.Contains(a.Text, "it was enough") {
		t.Errorf("its stdio tools answer %+v, %v", a, err)
	}
}

// leaves are the strings and numbers in a JSON value that are no keys.
func leaves(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			out = append(out, leaves(inner)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, leaves(inner)...)
		}
	case string:
		out = append(out, v)
	case float64:
		out = append(out, string(texts.Encode(v)))
	}
	return out
}

// Some agents show a model only the text of an answer, some only its structured
// form (ACP.md): every fact of the one is in the other. What the caller itself
// has just said need not be repeated.
func TestBothFormsHaveTheSameFacts(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, blocked_by: [a]}]\n"+touchGates))
	dev := r.connect("dev")
	for _, c := range []struct{ tool, args string }{
		{teamtools.MembersTool, `{}`},
		{teamtools.ListTool, `{}`},
		{teamtools.CreateTool, `{"subject":"Three","description":"the third"}`},
		{teamtools.CreateTool, `{"subject":"banned","description":"d"}`},
		{teamtools.GetTool, `{"taskId":"2"}`},
		{teamtools.ClaimTool, `{"taskId":"1"}`},
		{teamtools.ClaimTool, `{"taskId":"2"}`},
		{teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`},
		{teamtools.UpdateTool, `{"taskId":"1","subject":"One more","description":"d"}`},
		{teamtools.UpdateTool, `{"taskId":"1","status":"pending","owner":""}`},
		{teamtools.UpdateTool, `{"taskId":"1","subject":"One more"}`},
		{teamtools.UpdateTool, `{"taskId":"9","subject":"x"}`},
		{teamtools.UpdateTool, `{"taskId":"3","status":"deleted"}`},
		{teamtools.SendTool, `{"to":"*","message":"hello"}`},
		{teamtools.SendTool, `{"to":"dev","message":"hello"}`},
		{teamtools.ReportTool, `{"report":"hello"}`},
	} {
		f := dev.Use(c.tool, c.args)
		var structured any
		if err := json.Unmarshal([]byte(f.Structured), &structured); err != nil {
			t.Fatal(err)
		}
		if _, object := structured.(map[string]any); !object {
			t.Errorf("%s %s: the structured form is no object: %s", c.tool, c.args, f.Structured)
		}
		for _, fact := range leaves(structured) {
			if !strings.Contains(f.Text, fact) && !strings.Contains(c.args, fact) {
				t.Errorf("%s %s: %q is missing in the text %q", c.tool, c.args, fact, f.Text)
			}
		}
		if f.IsError && !slices.Contains(leaves(structured), f.Text) {
			t.Errorf("%s %s: the error is missing in the structured form: %s", c.tool, c.args, f.Structured)
		}
	}
}
