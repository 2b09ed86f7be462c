package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// crewRig is a rig whose crew a test can reach. Its members are there, but take
// no turns: what happens, happens by the team tools.
type crewRig struct {
	*rig
	crew *crew
	stop func()
}

// newCrewRig hires the members of a team.
func newCrewRig(t *testing.T, files map[string]string) *crewRig {
	t.Helper()
	return crewRigOn(t, newRig(t, files))
}

func crewRigOn(t *testing.T, r *rig) *crewRig {
	t.Helper()
	o := r.orchestrator(Options{Log: slog.New(slog.DiscardHandler)})
	if err := o.place.Create(); err != nil {
		t.Fatal(err)
	}
	store, err := tasks.Open(o.place.Store(), &tasks.Options{BlobDir: o.place.Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	j := openTestJournal(t, o.place.Journal(), store)
	b, err := bus.Embed(bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCrew(t.Context(), o, store, j, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.assemble(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	views := viewsOf(o.opts.OnLine)
	views.Stored = c.stored
	go j.Run(journal.TeamStarted{Members: o.memberNames()}, views)
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		c.dismiss()
		if err := errors.Join(j.Close(), b.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return &crewRig{r, c, stop}
}

// seat finds a member.
func (r *crewRig) seat(name string) *seat {
	r.t.Helper()
	s, ok := r.crew.seat(name)
	if !ok {
		r.t.Fatalf("no member %s", name)
	}
	return s
}

// stored are the tasks that there are now.
func (r *crewRig) stored() []tasks.Task {
	r.t.Helper()
	all, err := r.crew.store.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// write makes a file of the workspace, read gives one.
func (r *crewRig) write(name, text string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Error(err)
	}
}

func (r *crewRig) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// bearer sends a token with every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// agent is a member's agent, as far as MCP goes.
type mcpAgent struct {
	t *testing.T
	*mcp.ClientSession
}

// connect logs an agent in as a member.
func (r *crewRig) connect(member string) mcpAgent {
	r.t.Helper()
	url, token, err := r.crew.mcpFor(r.seat(member))
	if err != nil {
		r.t.Fatal(err)
	}
	return dialMCP(r.t, url, token)
}

func dialMCP(t *testing.T, url, token string) mcpAgent {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, transport}}, MaxRetries: -1,
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the team may have ended before
	return mcpAgent{t, session}
}

// facts are what an answer says, in both forms.
type facts struct {
	text       string
	structured string
	isError    bool
}

// use calls a tool; args is JSON, request names the call if it is not empty.
func (a mcpAgent) use(tool, args string, request ...string) facts {
	a.t.Helper()
	f, err := a.try(a.t.Context(), tool, args, request...)
	if err != nil {
		a.t.Fatalf("%s %s: %v", tool, args, err)
	}
	return f
}

func (a mcpAgent) try(ctx context.Context, tool, args string, request ...string) (facts, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
	if len(request) > 0 {
		params.Meta = mcp.Meta{requestMeta: request[0]}
	}
	result, err := a.CallTool(ctx, params)
	if err != nil {
		return facts{}, err
	}
	f := facts{isError: result.IsError, structured: string(rawjson.Encode(result.StructuredContent))}
	for _, c := range result.Content {
		f.text += c.(*mcp.TextContent).Text
	}
	return f, nil
}

// want checks that both forms of an answer have these words.
func (f facts) want(t *testing.T, isError bool, words ...string) {
	t.Helper()
	if f.isError != isError {
		t.Errorf("the answer is an error: %v, want %v: %s", f.isError, isError, f.text)
	}
	for _, w := range words {
		quoted := strings.Trim(string(rawjson.Encode(w)), `"`)
		if !strings.Contains(f.text, w) || !strings.Contains(f.structured, quoted) {
			t.Errorf("%q is not in both forms of the answer:\n%s\n%s", w, f.text, f.structured)
		}
	}
}

func mcpFiles(more string) map[string]string {
	return map[string]string{
		"team.yaml": pairSpec + "  docs: {model: dev, description: writes}\n" + more,
		"lead.yaml": "steps: []\n", "dev.yaml": "steps: []\n",
	}
}

func TestTeamToolsOverHTTP(t *testing.T) {
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, description: the first}]\n"))
	dev, docs := r.connect("dev"), r.connect("docs")
	dev.use(teamtools.ListTool, `{}`).want(t, false, "1", "pending", "One")
	dev.use(teamtools.CreateTool, `{"subject":"Two","description":"the second"}`).want(t, false, "2", "Two")
	dev.use(teamtools.UpdateTool, `{"task_id":"2","addBlockedBy":["1"]}`).want(t, false, "2", "blockedBy")
	docs.use(teamtools.GetTool, `{"taskId":"2"}`).want(t, false, "2", "Two", "the second", "pending", "1")
	docs.use(teamtools.GetTool, `{"taskId":"9"}`)
	dev.use(teamtools.ClaimTool, `{"taskId":"1"}`).want(t, false, "1", "One", "the first", "in_progress")
	dev.use(teamtools.ClaimTool, `{"taskId":"1"}`).want(t, false, "in_progress")
	docs.use(teamtools.ClaimTool, `{"taskId":"1"}`).want(t, true, "dev")
	docs.use(teamtools.ClaimTool, `{"taskId":"2"}`).want(t, true)
	dev.use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`).want(t, false, "1", "completed", "in_progress")
	dev.use(teamtools.UpdateTool, `{"taskId":"1","status":"finished"}`).want(t, true, "finished")
	dev.use(teamtools.UpdateTool, `{"taskId":1}`).want(t, true, "taskId")
	dev.use(teamtools.SendTool, `{"to":"docs","message":"hello","summary":"hi"}`).want(t, false, "docs")
	dev.use(teamtools.SendTool, `{"to":"nobody","message":"hello"}`).want(t, true, "nobody")
	dev.use(teamtools.SendTool, `{"recipient":"dev","content":"hello"}`).want(t, true, "dev")
	dev.use(teamtools.MembersTool, `{}`).want(t, false, "lead", "dev", "docs", "writes", "starting", "builtin/script")
	r.lines.wait(t, "dev's message", func(l journal.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), `"from":"dev","to":"docs"`)
	})
	r.lines.wait(t, "what dev did with task 1", func(l journal.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"by":"dev"`) &&
			strings.Contains(string(l.Data), "completed")
	})
}

// A report is a message to the lead, and what the report-sent policy wants.
func TestReportIsForTheLead(t *testing.T) {
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One}]\n"))
	dev := r.connect("dev")
	dev.use(teamtools.UpdateTool, `{"taskId":"1","status":"in_progress"}`)
	dev.use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
	unreported := func() int {
		return len(r.crew.watch.Of("dev").Unreported)
	}
	r.lines.wait(t, "the completion", func(l journal.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if n := unreported(); n != 1 {
		t.Fatalf("%d completed tasks are to be reported, want 1", n)
	}
	dev.use(teamtools.ReportTool, `{"report":"One is done."}`).want(t, false, "lead")
	line := r.lines.wait(t, "the report", func(l journal.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), "One is done")
	})
	var m mail.Message
	if err := decode(line.Data, &m); err != nil || m.From != "dev" || m.To != "lead" ||
		m.Kind != mail.Text || m.Summary != "report" {
		t.Errorf("the report is %+v, %v", m, err)
	}
	if n := unreported(); n != 0 {
		t.Errorf("%d completed tasks are still to be reported", n)
	}
	r.connect("lead").use(teamtools.ReportTool, `{"report":"Well."}`).want(t, true, "you are the lead")
}

// Every tool says what it and its arguments are for, and is there from the
// beginning of a session.
func TestToolsDescribeThemselves(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	list, err := r.connect("dev").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
		if tool.Meta["anthropic/alwaysLoad"] != true || tool.Description == "" {
			t.Errorf("%s: meta %v, description %q", tool.Name, tool.Meta, tool.Description)
		}
		schema := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for field, p := range properties {
			p := p.(map[string]any)
			if _, plain := p["type"].(string); !plain || p["description"] == nil {
				t.Errorf("%s: field %s is described as %v", tool.Name, field, p)
			}
		}
	}
	for tool, want := range map[string]string{
		teamtools.SendTool: `"required":["to","message"]`, teamtools.ReportTool: `"required":["report"]`, teamtools.CreateTool: `"required":["subject","description"]`,
		teamtools.ClaimTool: `"required":["taskId"]`, teamtools.GetTool: `"required":["taskId"]`,
		teamtools.UpdateTool: `"enum":["pending","in_progress","completed","deleted"]`,
	} {
		i := slices.IndexFunc(list.Tools, func(other *mcp.Tool) bool { return other.Name == tool })
		if i < 0 || !strings.Contains(string(rawjson.Encode(list.Tools[i].InputSchema)), want) {
			t.Errorf("the schema of %s lacks %s", tool, want)
		}
	}
	for _, want := range []string{teamtools.SendTool, teamtools.MembersTool, teamtools.CreateTool, teamtools.GetTool, teamtools.UpdateTool, teamtools.ListTool, teamtools.ClaimTool, teamtools.ReportTool} {
		if !names[want] {
			t.Errorf("there is no tool %s", want)
		}
	}
	if len(names) != 8 {
		t.Errorf("the tools are %v", names)
	}
}

const touchGates = `hooks:
  TaskCreated:
    - hooks: [{type: command, command: "grep -q banned && { echo not that >&2; exit 2; } || exit 0"}]
  TaskCompleted:
    - hooks: [{type: command, command: "test -f proof || { echo no proof yet >&2; exit 2; }"}]
`

func TestGatesHoldOverMCP(t *testing.T) {
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+touchGates))
	dev := r.connect("dev")
	dev.use(teamtools.CreateTool, `{"subject":"banned","description":"d"}`).want(t, true, "TaskCreated hook feedback",
		"not that")
	dev.use(teamtools.ListTool, `{}`)
	if all := r.stored(); len(all) != 1 {
		t.Errorf("a refused task is there: %+v", all)
	}
	dev.use(teamtools.UpdateTool, `{"taskId":"1","status":"in_progress"}`).want(t, false, "in_progress")
	done := `{"taskId":"1","status":"completed"}`
	dev.use(teamtools.UpdateTool, done).want(t, false, "TaskCompleted hook feedback", "no proof yet")
	dev.use(teamtools.UpdateTool, done).want(t, false, "no proof yet") // asked again, judged again
	r.write("proof", "")
	dev.use(teamtools.UpdateTool, done).want(t, false, "completed")
	if all := r.stored(); all[0].Status != tasks.Completed {
		t.Errorf("the task is %s", all[0].Status)
	}
	r.lines.wait(t, "the refusal in dev's name", func(l journal.Line) bool {
		return l.Type == "hook_feedback" && l.Member == "dev" && strings.Contains(string(l.Data), "no proof yet")
	})
}

// slowGate answers once a file is there; it counts its runs in another.
const slowGate = `hooks:
  TaskCompleted: [{hooks: [{type: command, command: "echo run >>runs; until test -f go; do sleep 0.02; done"}]}]
`

func TestSlowGateIsAskedOnce(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+slowGate))
	r.crew.tools.within = 150 * time.Millisecond
	dev := r.connect("dev")
	done := `{"taskId":"1","status":"completed"}`
	dev.use(teamtools.UpdateTool, done).want(t, false, "Still checking", "call team_task_update again")
	dev.use(teamtools.UpdateTool, `{"status":"completed", "taskId":"1"}`).want(t, false, "Still checking")
	answer := func(tool, args string) facts { // on a busy machine any call may take longer than within
		var got facts
		testkit.Eventually(t, "an answer to "+tool, func() bool {
			got = dev.use(tool, args)
			return !strings.Contains(got.text, "Still checking")
		})
		return got
	}
	answer(teamtools.SendTool, `{"to":"docs","message":"I wait"}`).want(t, false, "docs") // passes by
	r.write("go", "")
	answer(teamtools.UpdateTool, done).want(t, false, "completed", "1")
	if runs := strings.Count(r.read("runs"), "run"); runs != 1 {
		t.Errorf("the gate ran %d times", runs)
	}
}

func TestCancelledCallDoesNotHalfDo(t *testing.T) {
	for _, how := range []string{"cancelled", "hung up"} {
		t.Run(how, func(t *testing.T) {
			r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+slowGate))
			url, token, err := r.crew.mcpFor(r.seat("dev"))
			if err != nil {
				t.Fatal(err)
			}
			done := `{"taskId":"1","status":"completed"}`
			if how == "cancelled" {
				dev := dialMCP(t, url, token)
				ctx, cancel := context.WithCancel(t.Context())
				go r.whenRun(cancel)
				if _, err := dev.try(ctx, teamtools.UpdateTool, done); !errors.Is(err, context.Canceled) {
					t.Fatalf("the cancelled call: %v", err)
				}
			} else {
				r.callAndHangUp(url, token, teamtools.UpdateTool, done)
			}
			r.write("go", "")
			r.lines.wait(t, "the completion that goes on", func(l journal.Line) bool {
				return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
			})
			dialMCP(t, url, token).use(teamtools.UpdateTool, done).want(t, false, "completed", "pending") // the first one's answer
			if runs := strings.Count(r.read("runs"), "run"); runs != 1 {
				t.Errorf("the gate ran %d times", runs)
			}
		})
	}
}

// whenRun calls f once the gate runs.
func (r *crewRig) whenRun(f func()) {
	r.lines.wait(r.t, "the gate to run", func(l journal.Line) bool { return l.Type == "hook_started" })
	f()
}

// callAndHangUp calls a tool as an agent that dies in the middle.
func (r *crewRig) callAndHangUp(url, token, tool, args string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	session := post(r.t, ctx, url, token, hello).Header.Get("Mcp-Session-Id")
	go r.whenRun(cancel)
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	req := newPost(ctx, url, token, call)
	req.Header.Set("Mcp-Session-Id", session)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		r.t.Fatalf("the call that was hung up: %v", err)
	}
}

func TestNamedRequestHappensOnce(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	dev := r.connect("dev")
	task := `{"subject":"One","description":"d"}`
	dev.use(teamtools.CreateTool, task, "r1").want(t, false, "1")
	dev.use(teamtools.CreateTool, task, "r1").want(t, false, "1")
	dev.use(teamtools.CreateTool, task, "r2").want(t, false, "2")
	dev.use(teamtools.CreateTool, task).want(t, false, "3")
	dev.use(teamtools.CreateTool, task).want(t, false, "4")
	// Without the book, as after a restart, the store knows it.
	r.crew.tools.mu.Lock()
	r.crew.tools.desks["dev"].book = newCallBook(answerWithin)
	r.crew.tools.mu.Unlock()
	dev.use(teamtools.CreateTool, task, "r1").want(t, false, "1")
	if all := r.stored(); len(all) != 4 {
		t.Errorf("there are %d tasks, want 4", len(all))
	}
}

// A result that came when the member's turn was over has not been heard.
func TestAnswerAfterTheTurnWaits(t *testing.T) {
	r := newCrewRig(t, mcpFiles(slowCreate))
	dev := r.connect("dev")
	task := `{"subject":"One","description":"d"}`
	r.turn("dev", 1, true)
	go r.whenRun(func() {
		r.turn("dev", 1, false)
		r.write("go", "")
	})
	dev.use(teamtools.CreateTool, task).want(t, false, "1")
	r.turn("dev", 2, true)
	dev.use(teamtools.CreateTool, task).want(t, false, "1")
	dev.use(teamtools.CreateTool, task).want(t, false, "2")
}

const slowCreate = `hooks:
  TaskCreated: [{hooks: [{type: command, command: "until test -f go; do sleep 0.02; done"}]}]
`

// turn says which turn a member is in.
func (r *crewRig) turn(member string, no int, in bool) {
	e := agent.Event{Turn: no, Data: agent.TurnEnded{}}
	if in {
		e.Data = agent.TurnStarted{}
	}
	r.crew.watch.See(member, e)
}

func TestManyMembersClaimOneTask(t *testing.T) {
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One}]\n"))
	agents := []mcpAgent{r.connect("lead"), r.connect("dev"), r.connect("docs")}
	won := make(chan bool)
	for _, a := range agents {
		go func() {
			f, err := a.try(t.Context(), teamtools.ClaimTool, `{"taskId":"1"}`)
			won <- err == nil && !f.isError
		}()
	}
	wins := 0
	for range agents {
		if <-won {
			wins++
		}
	}
	if wins != 1 {
		t.Errorf("%d members own the task", wins)
	}
}

// The member is who the token says, whatever the session.
func TestSessionOfAnotherMemberIsRefused(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	url, devToken, err := r.crew.mcpFor(r.seat("dev"))
	if err != nil {
		t.Fatal(err)
	}
	_, docsToken, err := r.crew.mcpFor(r.seat("docs"))
	if err != nil {
		t.Fatal(err)
	}
	session := post(t, t.Context(), url, devToken, hello).Header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatal("no session")
	}
	req := newPost(t.Context(), url, docsToken, listTools)
	req.Header.Set("Mcp-Session-Id", session)
	if code := send(t, req).StatusCode; code != http.StatusForbidden {
		t.Errorf("docs gets %d for dev's session", code)
	}
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	listTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

func newPost(ctx context.Context, url, token, body string) *http.Request {
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

// send sends a request over a connection of its own and reads the answer.
func send(t *testing.T, req *http.Request) *http.Response {
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

func post(t *testing.T, ctx context.Context, url, token, body string) *http.Response {
	t.Helper()
	return send(t, newPost(ctx, url, token, body))
}

func TestSessionsAreBounded(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	url, token, err := r.crew.mcpFor(r.seat("dev"))
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for range 2 * maxSessions {
		last = post(t, t.Context(), url, token, hello).Header.Get("Mcp-Session-Id")
	}
	if n := len(slices.Collect(r.crew.tools.grants["dev"].server.Sessions())); n > maxSessions {
		t.Errorf("there are %d sessions, more than %d", n, maxSessions)
	}
	req := newPost(t.Context(), url, token, listTools)
	req.Header.Set("Mcp-Session-Id", last)
	if code := send(t, req).StatusCode; code != http.StatusOK {
		t.Errorf("the newest session gives %d", code)
	}
}

// Many agents at once: every task that they make is claimed and completed once.
func TestManyAgentsAtOnce(t *testing.T) {
	t.Parallel()
	const members, each = 20, 5
	spec := pairSpec
	for i := range members {
		spec += fmt.Sprintf("  m%d: {model: dev}\n", i)
	}
	r := newCrewRig(t, map[string]string{"team.yaml": spec, "lead.yaml": "steps: []\n", "dev.yaml": "steps: []\n"})
	var all sync.WaitGroup
	var claimed atomic.Int32
	for i := range members {
		a := r.connect(fmt.Sprint("m", i))
		all.Go(func() {
			for range each {
				f, err := a.try(t.Context(), teamtools.CreateTool, `{"subject":"s","description":"d"}`)
				if err != nil || f.isError {
					t.Errorf("create: %+v, %v", f, err)
				}
			}
			for id := 1; id <= members*each; id++ {
				f, err := a.try(t.Context(), teamtools.ClaimTool, fmt.Sprintf(`{"taskId":"%d"}`, id))
				if err != nil || f.isError {
					continue // somebody else has it, or it is not there yet
				}
				claimed.Add(1)
				done, err := a.try(t.Context(), teamtools.UpdateTool, fmt.Sprintf(`{"taskId":"%d","status":"completed"}`, id))
				if err != nil || done.isError {
					t.Errorf("complete: %+v, %v", done, err)
				}
			}
		})
	}
	all.Wait()
	if err := r.crew.store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	completed := 0
	for _, task := range r.stored() {
		if task.Status == tasks.Completed {
			completed++
		}
	}
	if n := len(r.stored()); n != members*each || int32(completed) != claimed.Load() {
		t.Errorf("%d tasks, %d claimed, %d completed", n, claimed.Load(), completed)
	}
}

// TestHostileRequests is number 38 of the attacks to survive.
func TestHostileRequests(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	url, token, err := r.crew.mcpFor(r.seat("dev"))
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(strings.Split(url, "/")[2])
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	get := func(r *http.Request) {
		r.Method, r.Body, r.ContentLength = http.MethodGet, nil, 0
		r.Header.Set("Origin", "http://evil.example")
	}
	for name, tc := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"as it should be":     {func(*http.Request) {}, 200},
		"localhost":           {host("localhost:" + port), 200},
		"host evil":           {host("evil.example"), 403},
		"host evil, our port": {host("evil.example:" + port), 403},
		"host rebound":        {host("127.0.0.1.evil.example:" + port), 403},
		"origin evil":         {set("Origin", "http://evil.example"), 403},
		"origin null":         {set("Origin", "null"), 403},
		"origin other port":   {set("Origin", "http://127.0.0.1:1"), 403},
		"origin https":        {set("Origin", "https://127.0.0.1:"+port), 403},
		"get, origin evil":    {get, 403},
		"cross-site":          {set("Sec-Fetch-Site", "cross-site"), 403},
		"same-site":           {set("Sec-Fetch-Site", "same-site"), 403},
		"text/plain":          {set("Content-Type", "text/plain"), 415},
		"a form":              {set("Content-Type", "application/x-www-form-urlencoded"), 415},
		"no token":            {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"empty token":         {set("Authorization", "Bearer "), 401},
		"wrong token":         {set("Authorization", "Bearer "+strings.Repeat("A", len(token))), 401},
		"cut token":           {set("Authorization", "Bearer "+token[:len(token)-1]), 401},
		"token as basic":      {set("Authorization", "Basic "+token), 401},
		"token in the query":  {func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + token }, 401},
		"other path":          {func(r *http.Request) { r.URL.Path = "/" }, 404},
		"our own number":      {set(requestHeader, "1"), 200},
	} {
		t.Run(name, func(t *testing.T) {
			req := newPost(t.Context(), url, token, hello)
			tc.change(req)
			if got := send(t, req).StatusCode; got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}

func TestHugeBodyIsRefused(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	url, token, err := r.crew.mcpFor(r.seat("dev"))
	if err != nil {
		t.Fatal(err)
	}
	huge := strings.Replace(hello, `"name":"t"`, `"name":"`+strings.Repeat("t", 5<<20)+`"`, 1)
	if code := post(t, t.Context(), url, token, huge).StatusCode; code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", code)
	}
}

func TestTokensAreOfOneMemberAndOfOneTime(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	dev, docs := r.seat("dev"), r.seat("docs")
	url, first, err1 := r.crew.mcpFor(dev)
	_, second, err2 := r.crew.mcpFor(dev)
	url3, other, err3 := r.crew.mcpFor(docs)
	if err := errors.Join(err1, err2, err3); err != nil || first == second || second == other || url != url3 {
		t.Fatalf("%v; the tokens %q, %q, %q at %s and %s", err, first, second, other, url, url3)
	}
	if len(first) < 43 {
		t.Errorf("a token of %d characters", len(first))
	}
	want := func(token string, code int) {
		t.Helper()
		if got := post(t, t.Context(), url, token, hello).StatusCode; got != code {
			t.Errorf("status %d, want %d", got, code)
		}
	}
	want(first, 401)
	want(second, 200)
	want(other, 200)
	r.crew.mcpRevoke(dev.member)
	r.crew.mcpRevoke(dev.member)
	want(second, 401)
	want(other, 200)
}

// A revoked member is hung up on within a second, whatever it has open.
func TestRevokedMemberIsDropped(t *testing.T) {
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+slowGate))
	dev := r.connect("dev") // it has a stream open for what the server may send
	failed := make(chan error, 1)
	go func() {
		_, err := dev.try(t.Context(), teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
		failed <- err
	}()
	r.whenRun(func() {
		began := time.Now()
		r.crew.mcpRevoke(r.seat("dev").member)
		if err := <-failed; err == nil {
			t.Error("the call of a revoked member was answered")
		}
		if took := time.Since(began); took > 30*time.Second { // a second is meant; a busy machine may add to it
			t.Errorf("it took %v", took)
		}
	})
	if _, err := dev.try(t.Context(), teamtools.ListTool, `{}`); err == nil {
		t.Error("a revoked member still gets answers")
	}
	r.write("go", "") // what had begun goes on to its end
	r.lines.wait(t, "the completion", func(l journal.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
}

func TestNothingIsLeftOfTheToolServer(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+slowGate))
	url, token, err := r.crew.mcpFor(r.seat("dev"))
	if err != nil {
		t.Fatal(err)
	}
	dev := dialMCP(t, url, token)
	failed := make(chan error, 1)
	go func() {
		_, err := dev.try(t.Context(), teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
		failed <- err
	}()
	r.whenRun(func() {})
	r.stop()
	<-failed
	_ = dev.Close()
	if c, err := net.DialTimeout("tcp", strings.Split(url, "/")[2], time.Second); err == nil {
		_ = c.Close()
		t.Error("the server still listens")
	}
	if _, _, err := r.crew.mcpFor(r.seat("dev")); !errors.Is(err, errEnding) {
		t.Errorf("after the end mcpFor gives %v", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// A team that is told to end does not wait for gates that agents wait for.
func TestTeamEndsWhileAgentsWait(t *testing.T) {
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+slowGate))
	url, token, err := r.crew.mcpFor(r.seat("dev"))
	if err != nil {
		t.Fatal(err)
	}
	dev := dialMCP(t, url, token)
	ctx, cancel := context.WithCancel(t.Context())
	ended, failed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.crew.run(ctx)
		ended <- err
	}()
	// A run that is cancelled before its loop begins is not what ends the call.
	if err := r.crew.loop.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := dev.try(t.Context(), teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
		if err == nil && !f.isError {
			err = errors.New("it was answered: " + f.text)
		} else {
			err = nil
		}
		failed <- err
	}()
	r.whenRun(cancel)
	for what, c := range map[string]chan error{"the call": failed, "the team": ended} {
		select {
		case err := <-c:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(testPatience):
			t.Fatalf("%s does not end", what)
		}
	}
	if all := r.stored(); all[0].Status == tasks.Completed {
		t.Error("the task is completed, and the gate has not agreed")
	}
}

// A team without such members has no listener.
func TestToolServerStartsOnlyWhenNeeded(t *testing.T) {
	r := newCrewRig(t, mcpFiles(""))
	if r.crew.tools.listener != nil {
		t.Error("there is a listener, and nobody needs one")
	}
	r.connect("dev")
	addr, ok := r.crew.tools.listener.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		t.Errorf("it listens at %v", addr)
	}
}
