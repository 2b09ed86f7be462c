package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/permission"
)

// rig is a server with the members lead, dev and docs, who take no turns: what happens,
// happens by the team tools. Their task hooks hold up each change until the test agrees.
type rig struct {
	t       testing.TB
	server  *Server
	store   *tasks.Store
	board   *teamtools.TaskAPI
	state   *view.Live
	members map[string]*members.Member
	callers map[string]*Caller

	runs   atomic.Int32  // of task hooks
	asked  chan struct{} // has an element once a task hook runs
	agreed chan struct{} // closed when task hooks agree
	agree  func()
	done   chan struct{} // has an element for each completed task
}

// newRig makes a rig with tasks of dev's.
func newRig(t testing.TB, subjects ...string) *rig {
	t.Helper()
	r := &rig{
		t: t, store: testkit.OpenStore(t, tasks.Open), state: view.NewLive(nil), members: map[string]*members.Member{},
		callers: map[string]*Caller{}, asked: make(chan struct{}, 100), agreed: make(chan struct{}), done: make(chan struct{}, 100),
	}
	r.agree = sync.OnceFunc(func() { close(r.agreed) })
	team := &configs.Team{
		Name: "crew", Lead: configs.Member{Name: "lead"}, Teammates: []configs.Member{{Name: "dev"}, {Name: "docs"}},
	}
	asks := inboxOf(r, configs.DenyAsk)
	r.board = teamtools.New(team, teamtools.Deps{
		Store: r.store, Letters: mail.Folder(t.TempDir()), Members: r, Requests: asks, Questions: asks.Questions, Plans: asks.Plans,
		Work: r, News: r,
		Act: func(_ context.Context, _ string, do func() error) error { return do() },
	})
	for i, m := range team.Members() {
		session, err := r.store.Members().Attach(t.Context(), m.Name, func() string { return "session-" + m.Name })
		testkit.Must(t, err)
		member := &members.Member{Member: &m, Lead: i == 0, Session: session}
		mate, rights := fakeMate{r.fire}, permission.NewRights(permission.Policy{}, nil)
		r.members[m.Name] = member
		r.callers[m.Name] = &Caller{
			Member: member, Life: &members.Life{}, Teammate: mate, Rights: rights, Asker: asks.Asker(m.Name),
			Tools: func() ([]teamtools.Tool, error) {
				return r.board.Tools(teamtools.MCPNames, teamtools.Caller{Member: member, Act: func(id string) teamtools.Actor {
					by := member.Actor()
					by.CallID = id
					return teamtools.Actor{Actor: by, Fire: r.fire, Teammate: m.Name, Lead: member.Lead}
				}})
			},
		}
	}
	for _, subject := range subjects {
		_, err := r.store.Add(t.Context(), actors.Actor{}, []tasks.New{{Subject: subject, Owner: "dev"}})
		testkit.Must(t, err)
	}
	r.state.Apply(events.Event{Data: events.TeamStarted{}})
	r.server = New(Deps{Log: slog.New(slog.DiscardHandler), Processes: process.New(process.Unmarked), State: r.state, Members: r, NoSeat: r.board.NoSeat})
	t.Cleanup(r.server.Close)
	return r
}

// Caller is a member.
func (r *rig) Caller(member string) (*Caller, bool) {
	c, ok := r.callers[member]
	return c, ok
}

// fire runs the hooks of all members: those of tasks wait.
func (r *rig) fire(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
	switch p.(type) {
	case hooks.TaskCreatedInput, hooks.TaskCompletedInput:
		r.runs.Add(1)
		r.asked <- struct{}{}
		select {
		case <-r.agreed:
		case <-ctx.Done():
			return hooks.Outcome{}, ctx.Err()
		}
	}
	return hooks.Outcome{Decision: hooks.Pass}, nil
}

// whenRun calls f once a task hook runs.
func (r *rig) whenRun(f func()) {
	<-r.asked
	f()
}

// deserted waits until nobody waits for the calls of a member any more: the server learns
// later than the client that one was cancelled.
func (r *rig) deserted(member string) {
	r.t.Helper()
	book := r.server.desks[member].book
	testkit.Eventually(r.t, "the end of all requests", func() bool {
		book.mu.Lock()
		defer book.mu.Unlock()
		for _, c := range book.calls {
			if c.waiting > 0 {
				return false
			}
		}
		return true
	})
}

// completed waits until a task is.
func (r *rig) completed() {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		r.t.Fatal("no task is completed")
	}
}

// connect logs an agent in as a member.
func (r *rig) connect(member string) testkit.MCPAgent {
	r.t.Helper()
	url, token, err := r.server.Admit(r.members[member], false)
	testkit.Must(r.t, err)
	return testkit.DialMCP(r.t, url, token)
}

// stored are the tasks that there are now.
func (r *rig) stored() []tasks.Task {
	r.t.Helper()
	all, err := r.store.List(r.t.Context())
	testkit.Must(r.t, err)
	return all
}

// turn says which turn a member is in.
func (r *rig) turn(member string, no int, in bool) {
	e := events.Event{Member: member, Turn: no, Data: events.TurnEnded{}}
	if in {
		e.Data = events.TurnStarted{}
	}
	r.state.Apply(e)
}

// What the board asks and tells.

func (r *rig) Member(name string) (*members.Member, bool) {
	m, ok := r.members[name]
	return m, ok
}

func (r *rig) Now(string) (state, gone string) { return "working", "" }

func (r *rig) Secure(context.Context, tasks.Task) error { return nil }

func (r *rig) HarvestTask(context.Context, tasks.Task) {}
func (r *rig) Sent([]mail.Message)                     {}
func (r *rig) Closed(tasks.Task)                       { r.done <- struct{}{} }

// fakeMate has hooks, and no turns.
type fakeMate struct {
	fire func(context.Context, hooks.Payload) (hooks.Outcome, error)
}

func (m fakeMate) Fire(ctx context.Context, p hooks.Payload) (hooks.Outcome, error) {
	return m.fire(ctx, p)
}

func (m fakeMate) Interrupt(string) {}

// inboxOf is the inbox of a rig.
func inboxOf(r *rig, onAsk configs.OnAsk) *inbox.Inbox {
	return inbox.New(&configs.Team{OnAsk: onAsk}, inbox.Deps{
		Store: r.store, Log: slog.New(slog.DiscardHandler), Changed: func() {}, Group: &members.Group{},
		Attached: func() int { return 0 }, Members: inboxMembers{r: r}, Journal: nowhere{},
		Lend: func(string) func(context.Context) error { return func(context.Context) error { return nil } },
	})
}

// inboxMembers are the members of a rig, who take turns.
type inboxMembers struct {
	inbox.Members
	r *rig
}

func (m inboxMembers) Member(name string) (*members.Member, bool) { return m.r.Member(name) }
func (m inboxMembers) GoneFor(string) string                      { return "" }
func (m inboxMembers) Turn(string) int                            { return 1 }

// nowhere is a journal that nobody reads.
type nowhere struct{}

func (nowhere) Append(events.Event) {}

func TestSlowGateIsAskedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "One")
	r.server.deps.Within = 150 * time.Millisecond
	dev := r.connect("dev")
	done := `{"taskId":"1","status":"completed"}`
	dev.Use(teamtools.UpdateTool, done).Want(t, false, "Still checking", "call team_task_update again")
	dev.Use(teamtools.UpdateTool, `{"status":"completed", "taskId":"1"}`).Want(t, false, "Still checking")
	answer := func(tool, args string) testkit.MCPAnswer { // on a busy machine any call may take longer than within
		var got testkit.MCPAnswer
		testkit.Eventually(t, "an answer to "+tool, func() bool {
			got = dev.Use(tool, args)
			return !strings.Contains(got.Text, "Still checking")
		})
		return got
	}
	answer(teamtools.SendTool, `{"to":"docs","message":"I wait"}`).Want(t, false, "docs") // passes by
	r.agree()
	answer(teamtools.UpdateTool, done).Want(t, false, "completed", "1")
	if runs := r.runs.Load(); runs != 1 {
		t.Errorf("the gate ran %d times", runs)
	}
}

func TestCancelledCallDoesNotHalfDo(t *testing.T) {
	for _, how := range []string{"cancelled", "hung up"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, "One")
			url, token, err := r.server.Admit(r.members["dev"], false)
			if err != nil {
				t.Fatal(err)
			}
			done := `{"taskId":"1","status":"completed"}`
			if how == "cancelled" {
				dev := testkit.DialMCP(t, url, token)
				ctx, cancel := context.WithCancel(t.Context())
				go r.whenRun(cancel)
				if _, err := dev.Try(ctx, teamtools.UpdateTool, done); !errors.Is(err, context.Canceled) {
					t.Fatalf("the cancelled call: %v", err)
				}
			} else {
				r.callAndHangUp(url, token, teamtools.UpdateTool, done)
			}
			r.deserted("dev")
			r.agree()
			r.completed()
			testkit.DialMCP(t, url, token).Use(teamtools.UpdateTool, done).Want(t, false, "completed", "pending") // the first one's answer
			if runs := r.runs.Load(); runs != 1 {
				t.Errorf("the gate ran %d times", runs)
			}
		})
	}
}

// callAndHangUp calls a tool as an agent that dies in the middle.
func (r *rig) callAndHangUp(url, token, tool, args string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	session := testkit.Post(ctx, r.t, url, token, testkit.Hello).Header.Get("Mcp-Session-Id")
	go r.whenRun(cancel)
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	req := testkit.NewPost(ctx, url, token, call)
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
	r := newRig(t)
	r.agree()
	dev := r.connect("dev")
	task := `{"subject":"One","description":"d"}`
	dev.Use(teamtools.CreateTool, task, "r1").Want(t, false, "1")
	dev.Use(teamtools.CreateTool, task, "r1").Want(t, false, "1")
	dev.Use(teamtools.CreateTool, task, "r2").Want(t, false, "2")
	dev.Use(teamtools.CreateTool, task).Want(t, false, "3")
	dev.Use(teamtools.CreateTool, task).Want(t, false, "4")
	// Without the book, as after a restart, the store knows it.
	r.server.mu.Lock()
	r.server.desks["dev"].book = newCallBook(answerWithin)
	r.server.mu.Unlock()
	dev.Use(teamtools.CreateTool, task, "r1").Want(t, false, "1")
	if all := r.stored(); len(all) != 4 {
		t.Errorf("there are %d tasks, want 4", len(all))
	}
}

// The member is who the token says, whatever the session.
func TestSessionOfAnotherMemberIsRefused(t *testing.T) {
	r := newRig(t)
	url, devToken, err := r.server.Admit(r.members["dev"], false)
	if err != nil {
		t.Fatal(err)
	}
	_, docsToken, err := r.server.Admit(r.members["docs"], false)
	if err != nil {
		t.Fatal(err)
	}
	session := testkit.Post(t.Context(), t, url, devToken, testkit.Hello).Header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatal("no session")
	}
	req := testkit.NewPost(t.Context(), url, docsToken, testkit.ListTools)
	req.Header.Set("Mcp-Session-Id", session)
	if code := testkit.Send(t, req).StatusCode; code != http.StatusForbidden {
		t.Errorf("docs gets %d for dev's session", code)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	r := newRig(t)
	url, token, err := r.server.Admit(r.members["dev"], false)
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for range 2 * maxSessions {
		last = testkit.Post(t.Context(), t, url, token, testkit.Hello).Header.Get("Mcp-Session-Id")
	}
	if n := len(slices.Collect(r.server.grants["dev"].server.Sessions())); n > maxSessions {
		t.Errorf("there are %d sessions, more than %d", n, maxSessions)
	}
	req := testkit.NewPost(t.Context(), url, token, testkit.ListTools)
	req.Header.Set("Mcp-Session-Id", last)
	if code := testkit.Send(t, req).StatusCode; code != http.StatusOK {
		t.Errorf("the newest session gives %d", code)
	}
}

// TestHostileRequests is number 38 of the attacks to survive.
func TestHostileRequests(t *testing.T) {
	r := newRig(t)
	url, token, err := r.server.Admit(r.members["dev"], false)
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
			req := testkit.NewPost(t.Context(), url, token, testkit.Hello)
			tc.change(req)
			if got := testkit.Send(t, req).StatusCode; got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}

func TestHugeBodyIsRefused(t *testing.T) {
	r := newRig(t)
	url, token, err := r.server.Admit(r.members["dev"], false)
	if err != nil {
		t.Fatal(err)
	}
	huge := strings.Replace(testkit.Hello, `"name":"t"`, `"name":"`+strings.Repeat("t", 5<<20)+`"`, 1)
	if code := testkit.Post(t.Context(), t, url, token, huge).StatusCode; code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", code)
	}
}

func TestTokensAreOfOneMemberAndOfOneTime(t *testing.T) {
	r := newRig(t)
	dev, docs := r.members["dev"], r.members["docs"]
	url, first, err1 := r.server.Admit(dev, false)
	_, second, err2 := r.server.Admit(dev, false)
	url3, other, err3 := r.server.Admit(docs, false)
	if err := errors.Join(err1, err2, err3); err != nil || first == second || second == other || url != url3 {
		t.Fatalf("%v; the tokens %q, %q, %q at %s and %s", err, first, second, other, url, url3)
	}
	if len(first) < 43 {
		t.Errorf("a token of %d characters", len(first))
	}
	want := func(token string, code int) {
		t.Helper()
		if got := testkit.Post(t.Context(), t, url, token, testkit.Hello).StatusCode; got != code {
			t.Errorf("status %d, want %d", got, code)
		}
	}
	want(first, 401)
	want(second, 200)
	want(other, 200)
	r.server.Revoke(dev)
	r.server.Revoke(dev)
	want(second, 401)
	want(other, 200)
}

// A revoked member is hung up on within a second, whatever it has open.
func TestRevokedMemberIsDropped(t *testing.T) {
	r := newRig(t, "One")
	dev := r.connect("dev") // it has a stream open for what the server may send
	failed := make(chan error, 1)
	go func() {
		_, err := dev.Try(t.Context(), teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
		failed <- err
	}()
	r.whenRun(func() {
		began := time.Now()
		r.server.Revoke(r.members["dev"])
		if err := <-failed; err == nil {
			t.Error("the call of a revoked member was answered")
		}
		if took := time.Since(began); took > time.Minute { // a second is meant; a busy machine may add to it
			t.Errorf("it took %v", took)
		}
	})
	if _, err := dev.Try(t.Context(), teamtools.ListTool, `{}`); err == nil {
		t.Error("a revoked member still gets answers")
	}
	r.agree() // what had begun goes on to its end
	r.completed()
}

func TestNothingIsLeftOfTheToolServer(t *testing.T) {
	r := newRig(t, "One")
	before := goleak.IgnoreCurrent() // it does not listen yet
	url, token, err := r.server.Admit(r.members["dev"], false)
	if err != nil {
		t.Fatal(err)
	}
	dev := testkit.DialMCP(t, url, token)
	failed := make(chan error, 1)
	go func() {
		_, err := dev.Try(t.Context(), teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
		failed <- err
	}()
	r.whenRun(func() {})
	r.server.Close()
	<-failed
	_ = dev.Close()
	if c, err := net.DialTimeout("tcp", strings.Split(url, "/")[2], time.Second); err == nil {
		_ = c.Close()
		t.Error("the server still listens")
	}
	if _, _, err := r.server.Admit(r.members["dev"], false); !errors.Is(err, errEnding) {
		t.Errorf("after the end Admit gives %v", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// A team without such members has no listener.
func TestToolServerStartsOnlyWhenNeeded(t *testing.T) {
	r := newRig(t)
	if r.server.listener != nil {
		t.Error("there is a listener, and nobody needs one")
	}
	r.connect("dev")
	addr, ok := r.server.listener.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		t.Errorf("it listens at %v", addr)
	}
}

// Calls that come over the socket meet the same desk as those over HTTP.
func TestBusAndHTTPShareADesk(t *testing.T) {
	r := newRig(t, "One")
	r.server.deps.Within = 100 * time.Millisecond
	done := `{"taskId":"1","status":"completed"}`
	r.connect("dev").Use(teamtools.UpdateTool, done).Want(t, false, "Still checking")
	r.agree()
	for {
		a, err := r.server.Call(t.Context(), api.TeamCall{Tool: teamtools.UpdateTool, Input: []byte(done), As: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(a.Text, "Still checking") {
			testkit.MCPAnswer{Text: a.Text, Structured: string(a.Structured), IsError: a.IsError}.Want(t, false,
				"completed", "pending")
			break
		}
	}
	if runs := r.runs.Load(); runs != 1 {
		t.Errorf("the gate ran %d times", runs)
	}
	if _, err := r.server.Call(t.Context(), api.TeamCall{Tool: teamtools.ListTool, As: "nobody"}); !errors.Is(err, api.ErrNoMember) {
		t.Errorf("a stranger gets %v", err)
	}
	a, err := r.server.Call(t.Context(), api.TeamCall{Tool: "team_explode", As: "dev"})
	if err != nil || !a.IsError || !strings.Contains(a.Text, "team_explode") {
		t.Errorf("an unknown tool gives %+v, %v", a, err)
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

// A result that came when the member's turn was over has not been heard.
func TestAnswerAfterTheTurnWaits(t *testing.T) {
	r := newRig(t)
	dev := r.connect("dev")
	task := `{"subject":"One","description":"d"}`
	r.turn("dev", 1, true)
	go r.whenRun(func() {
		r.turn("dev", 1, false)
		r.agree()
	})
	dev.Use(teamtools.CreateTool, task).Want(t, false, "1")
	r.turn("dev", 2, true)
	dev.Use(teamtools.CreateTool, task).Want(t, false, "1")
	dev.Use(teamtools.CreateTool, task).Want(t, false, "2")
}
