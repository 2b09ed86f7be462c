package mcp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
)

// grant is a member's right to use the team tools over HTTP. It tracks all
// requests and sessions of its token, so that they end when it is revoked.
type grant struct {
	member string
	hash   [sha256.Size]byte // of the token, so that no copy of it lies around
	server *sdk.Server
	// processes tell whether a connection was made by one of the member's.
	processes *process.Processes

	listed  atomic.Bool // the tools were asked for (tools/list)
	unasked atomic.Bool // the program has to ask for them, and has not answered a prompt yet
	called  atomic.Bool // one of them was called (tools/call), or missed has said that none can be

	mu      sync.Mutex
	revoked bool
	begun   int
	open    map[string]*openRequest // by what requestHeader says
}

// openRequest is a running HTTP request, with its calls. The SDK gives a call the
// context of its session, which outlives an agent that has died, unlike the
// request.
type openRequest struct {
	cancel context.CancelFunc
	calls  []context.CancelFunc
}

// newGrant makes a grant of the tools of a desk.
func newGrant(d *desk, token string, processes *process.Processes) *grant {
	g := &grant{
		member: d.caller.Member.Name, hash: sha256.Sum256([]byte(token)), processes: processes,
		open: map[string]*openRequest{},
	}
	g.server = newServer(d.list(), func(ctx context.Context, h http.Header, c api.TeamCall) api.TeamAnswer {
		// The context is the session's, but the call must end with its request.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g.tie(h.Get(requestHeader), cancel)
		return d.call(ctx, c)
	})
	g.server.AddReceivingMiddleware(g.noteUse)
	return g
}

// requestHeader carries the number of a request to the tools. A client's value is
// overwritten.
const requestHeader = "Covey-Request"

// whileGranted ends a request when its grant is revoked.
func whileGranted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := grantOf(r)
		ctx, cancel := context.WithCancel(r.Context())
		id, ok := g.begin(cancel)
		defer g.end(id)
		if !ok {
			http.Error(w, errOldToken.Error(), http.StatusUnauthorized)
			return
		}
		if r.Header.Get("Mcp-Session-Id") == "" {
			g.trim()
		}
		r = r.WithContext(ctx)
		r.Header.Set(requestHeader, id)
		next.ServeHTTP(w, r)
	})
}

// begin numbers a request. It is not ok if the grant has been revoked.
func (g *grant) begin(cancel context.CancelFunc) (id string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun++
	id = strconv.Itoa(g.begun)
	g.open[id] = &openRequest{cancel: cancel}
	return id, !g.revoked
}

// end ends a request and cancels its calls.
func (g *grant) end(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.open[id]
	delete(g.open, id)
	o.cancel()
	for _, cancel := range o.calls {
		cancel()
	}
}

// tie cancels a call when its request ends.
func (g *grant) tie(id string, cancel context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.open[id]; o != nil {
		o.calls = append(o.calls, cancel)
		return
	}
	cancel()
}

// maxSessions limits the sessions of one member, because an agent may begin one
// with each connection and end none.
const maxSessions = 64

// trim makes room for a new session by closing the oldest ones.
func (g *grant) trim() {
	sessions := slices.Collect(g.server.Sessions())
	for _, s := range sessions[:max(0, len(sessions)-maxSessions+1)] {
		_ = s.Close() // its client has most likely gone
	}
}

// revoke ends all requests and sessions of a grant.
func (g *grant) revoke() {
	g.mu.Lock()
	g.revoked = true
	for _, o := range g.open {
		o.cancel()
	}
	g.mu.Unlock()
	// Closing a session waits for its calls, so they are cancelled first.
	for s := range g.server.Sessions() {
		_ = s.Close() // the connection is closed, so the error does not matter
	}
}

// noteUse records that a client has listed the tools, or called one.
func (g *grant) noteUse(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		switch method {
		case "tools/list":
			g.listed.Store(true)
		case "tools/call":
			g.called.Store(true)
		}
		return next(ctx, method, r)
	}
}

// Saw records calls that the member's program was allowed to make, and warns if the program does not
// give its model the team tools. It implements crew.Watcher.
func (t *Server) Saw(_ context.Context, m *members.Member, e events.Event) error {
	if c, ok := t.deps.Members.Caller(m.Name); ok {
		c.see(e.Data)
	}
	if warning := t.missed(m.Name, e.Data); warning != "" {
		t.deps.Append(events.Event{Member: m.Name, Turn: e.Turn, Data: events.Warning{Text: warning}})
	}
	return nil
}

// missed returns a warning if the member's program does not give its model the team
// tools, or "": it answers its first prompt without having listed them, or itself answers a
// call of one that it does not know. Some programs connect only between the prompt and the
// answer.
func (t *Server) missed(member string, e events.Data) (warning string) {
	t.mu.Lock()
	g := t.grants[member]
	t.mu.Unlock()
	if g == nil {
		return ""
	}
	// It warns once per process of the program.
	switch e := e.(type) {
	case events.ToolReturned:
		// The name of a tool that the program has from a server begins with the server's.
		if !e.IsError || !strings.HasPrefix(e.Name, "team_") || g.called.Swap(true) {
			return ""
		}
		return fmt.Sprintf("the agent program itself refused a call of the team's tool %s (%s), so its model seems to have none of "+
			"them; install its newest version", e.Name, texts.Short(e.Content, 200))
	case events.PermissionDecided: // it knows a tool that it asks about
		if strings.Contains(e.Tool, "team_") {
			g.called.Store(true)
		}
		return ""
	case events.TextSaid, events.ToolCalled:
	default:
		return ""
	}
	if !g.unasked.Swap(false) || g.listed.Load() {
		return ""
	}
	return "the agent program has answered without having asked for the team's tools (tools/list), so its model had none of " +
		"them; it may connect to MCP servers too late, or not at all"
}
