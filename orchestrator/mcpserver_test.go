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

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
)

// stdio is an agent's end of the streams that a Client serves tools on.
type stdio struct {
	*mcp.ClientSession
	in    *io.PipeReader // what the client sends; closing it hangs up
	out   *io.PipeWriter
	ended chan error // of ServeTools
}

// serveStdio serves a client's tools to an agent.
func serveStdio(t *testing.T, ctx context.Context, c *api.Client) stdio {
	t.Helper()
	toServer, fromAgent := io.Pipe()
	toAgent, fromServer := io.Pipe()
	s := stdio{in: toAgent, out: fromAgent, ended: make(chan error, 1)}
	go func() { s.ended <- ServeTools(ctx, c, Streams{In: toServer, Out: fromServer}) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: toAgent, Writer: fromAgent}, nil)
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
	case <-time.After(testPatience):
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
	b, err := bus.Embed(bus.Options{Protocol: api.Protocol})
	testkit.Must(t, err)
	f := toolTeam{bus: b, calls: make(chan api.TeamCall, 10)}
	_, err = api.Serve(b, api.Checks{
		Member: func(context.Context, string, any) error { return nil },
		Hook:   func(ctx context.Context, _ process.Caller) (context.Context, error) { return ctx, nil },
	}, api.VerbTool.Handle(func(_ context.Context, call api.TeamCall) (api.TeamAnswer, error) {
		f.calls <- call
		return api.TeamAnswer{Text: "done", Structured: []byte(`{"done":true}`)}, nil
	}))
	testkit.Must(t, err)
	testkit.Must(t, b.Listen(p.Socket(), func(net.Conn) (bus.Identity, error) { return by.Identity(), nil }))
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
	a := mcpAgent{t, s.ClientSession}
	a.use(teamtools.ClaimTool, `{"taskId":"1"}`, "r1").want(t, false, "done")
	call := <-f.calls
	if call.Tool != teamtools.ClaimTool || string(call.Input) != `{"taskId":"1"}` || call.Request != "r1" || call.As != "api" {
		t.Errorf("the team was asked for %+v", call)
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 8 {
		t.Errorf("%d tools, %v", len(tools.Tools), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.end(t); err != nil {
		t.Errorf("after the agent hung up: %v", err)
	}
}

func TestStdioToolsAreForMembers(t *testing.T) {
	for _, by := range []process.Caller{
		{Kind: process.Operator, PID: 1}, {Kind: process.Stray, PID: 5}, {Kind: process.Hook, PID: 4},
	} {
		f := newToolTeam(t, by)
		a := mcpAgent{t, serveStdio(t, t.Context(), f.client).ClientSession}
		a.use(teamtools.ListTool, `{}`).want(t, true, "denied")
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

// Calls that come over the socket meet the same desk as those over HTTP.
func TestBusAndHTTPShareADesk(t *testing.T) {
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+slowGate))
	r.crew.tools.within = 100 * time.Millisecond
	done := `{"taskId":"1","status":"completed"}`
	r.connect("dev").use(teamtools.UpdateTool, done).want(t, false, "Still checking")
	r.write("go", "")
	for {
		a, err := r.crew.toolFor(t.Context(), api.TeamCall{Tool: teamtools.UpdateTool, Input: []byte(done), As: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(a.Text, "Still checking") {
			facts{text: a.Text, structured: string(a.Structured), isError: a.IsError}.want(t, false,
				"completed", "pending")
			break
		}
	}
	if runs := strings.Count(r.read("runs"), "run"); runs != 1 {
		t.Errorf("the gate ran %d times", runs)
	}
	if _, err := r.crew.toolFor(t.Context(), api.TeamCall{Tool: teamtools.ListTool, As: "nobody"}); !errors.Is(err, api.ErrNoMember) {
		t.Errorf("a stranger gets %v", err)
	}
	a, err := r.crew.toolFor(t.Context(), api.TeamCall{Tool: "team_explode", As: "dev"})
	if err != nil || !a.IsError || !strings.Contains(a.Text, "team_explode") {
		t.Errorf("an unknown tool gives %+v, %v", a, err)
	}
}

// A hook that stops the member for good says so in the answer, and the member
// leaves when its turn is over.
func TestHaltOverMCP(t *testing.T) {
	r := newCrewRig(t, mcpFiles(`tasks: [{id: a, subject: One, owner: dev}]
hooks:
  TaskCompleted:
    - hooks: [{type: command, command: "echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}]
`))
	r.connect("dev").use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`).want(t, false, "enough")
	if reason := r.seat("dev").life.State().Halting; reason != "enough" {
		t.Errorf("dev is to leave because of %q", reason)
	}
	if all := r.stored(); all[0].Status == "completed" {
		t.Error("the task is completed")
	}
}

// Who has left the team cannot act in it, by no way.
func TestGoneMemberHasNoTools(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	url, token, err := r.crew.mcpFor(r.seat("dev"))
	if err != nil {
		t.Fatal(err)
	}
	r.crew.leave(t.Context(), r.seat("dev"), "it was enough")
	if code := post(t, t.Context(), url, token, hello).StatusCode; code != 401 {
		t.Errorf("its token is worth a %d", code)
	}
	a, err := r.crew.toolFor(t.Context(), api.TeamCall{Tool: teamtools.CreateTool,
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
		out = append(out, string(rawjson.Encode(v)))
	}
	return out
}

// Some agents show a model only the text of an answer, some only its structured
// form (ACP.md): every fact of the one is in the other. What the caller itself
// has just said need not be repeated.
func TestBothFormsHaveTheSameFacts(t *testing.T) {
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
		f := dev.use(c.tool, c.args)
		var structured any
		if err := json.Unmarshal([]byte(f.structured), &structured); err != nil {
			t.Fatal(err)
		}
		if _, object := structured.(map[string]any); !object {
			t.Errorf("%s %s: the structured form is no object: %s", c.tool, c.args, f.structured)
		}
		for _, fact := range leaves(structured) {
			if !strings.Contains(f.text, fact) && !strings.Contains(c.args, fact) {
				t.Errorf("%s %s: %q is missing in the text %q", c.tool, c.args, fact, f.text)
			}
		}
		if f.isError && !slices.Contains(leaves(structured), f.text) {
			t.Errorf("%s %s: the error is missing in the structured form: %s", c.tool, c.args, f.structured)
		}
	}
}

func TestPlainSchema(t *testing.T) {
	for _, tc := range []struct{ in, types string }{
		{`{"type":"object","properties":{"a":{"type":["null","string"]}}}`, "string"},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, "integer"},
		{`{"type":"object","properties":{"a":{"type":["string","integer"]}}}`, "string integer"},
	} {
		var s jsonschema.Schema
		if err := json.Unmarshal(plainSchema([]byte(tc.in), teamtools.Description{}), &s); err != nil {
			t.Fatal(err)
		}
		a := s.Properties["a"]
		if got := strings.TrimSpace(a.Type + " " + strings.Join(a.Types, " ")); got != tc.types {
			t.Errorf("%s: the type is %q", tc.in, got)
		}
	}
	if got := plainSchema([]byte(`{`), teamtools.Description{}); string(got) != `{` {
		t.Errorf("what is no schema becomes %s", got)
	}
}
