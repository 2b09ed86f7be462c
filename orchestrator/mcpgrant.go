package orchestrator

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/process"
)

// grant is a member's right to use the team tools over HTTP. It knows all that
// is open in the member's name, so that revoking it can hang up: a token that
// is merely forgotten would leave its streams open.
type grant struct {
	member string
	hash   [sha256.Size]byte // of the token, so that no copy of it lies around
	server *mcp.Server
	// processes tell whether a connection was made by one of the member's.
	processes *process.Processes

	listed  atomic.Bool // the tools were asked for (tools/list)
	unasked atomic.Bool // the program has to ask for them, and has said nothing yet

	mu      sync.Mutex
	revoked bool
	begun   int
	open    map[string]*openRequest // by what requestHeader says
}

// openRequest is an HTTP request under way, with the calls that it carries. The
// SDK hands a call the context of its session, which lives on when the agent
// that asked has died; the request is what ends with it.
type openRequest struct {
	cancel context.CancelFunc
	calls  []context.CancelFunc
}

// newGrant makes a grant of the tools of a desk.
func newGrant(d *toolDesk, token string) *grant {
	g := &grant{
		member: d.seat.member.Name, hash: sha256.Sum256([]byte(token)), processes: d.seat.crew.processes,
		open: map[string]*openRequest{},
	}
	g.server = mcpServer(d.list(), func(ctx context.Context, h http.Header, c api.TeamCall) api.TeamAnswer {
		// The context is the session's. When the request is gone, so is who
		// could take the answer.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g.tie(h.Get(requestHeader), cancel)
		return d.call(ctx, c)
	})
	g.server.AddReceivingMiddleware(g.heedList)
	return g
}

// requestHeader numbers requests on their way to the tools. What a client puts
// there is overwritten.
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

// begin numbers a request; false: the grant has been revoked.
func (g *grant) begin(cancel context.CancelFunc) (id string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun++
	id = strconv.Itoa(g.begun)
	g.open[id] = &openRequest{cancel: cancel}
	return id, !g.revoked
}

// end is for a request that is over, answered or not.
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

// tie makes a call end with its request.
func (g *grant) tie(id string, cancel context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.open[id]; o != nil {
		o.calls = append(o.calls, cancel)
		return
	}
	cancel()
}

// maxSessions is how many sessions of one member there may be: an agent that
// begins one with every connection, and ends none, must not fill the memory.
const maxSessions = 64

// trim makes room for a new session; the oldest one goes first.
func (g *grant) trim() {
	sessions := slices.Collect(g.server.Sessions())
	for _, s := range sessions[:max(0, len(sessions)-maxSessions+1)] {
		_ = s.Close() // its peer has most likely gone long ago
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
	// Closing a session waits for its calls, so those had to be told first.
	for s := range g.server.Sessions() {
		_ = s.Close() // its peer is hung up on: there is nobody to tell
	}
}
