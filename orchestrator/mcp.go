package orchestrator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpPath is where the team tools are served.
const mcpPath = "/mcp"

// headerWait is how long a connection may take to send the head of a request.
const headerWait = 10 * time.Second

// toolServer serves the team tools to members whose agents are programs of
// their own: one listener on loopback for the whole team, opened when the
// first member needs it, and one desk per member. Who a caller is follows from
// its bearer token and from nothing else that it says. The zero value serves
// nobody yet.
type toolServer struct {
	within time.Duration // answerWithin, unless a test sets another

	mu       sync.Mutex
	closed   bool
	desks    map[string]*toolDesk // by member
	grants   map[string]*grant    // by member
	listener net.Listener         // nil: nobody has needed one
	http     *http.Server
	serving  sync.WaitGroup // the listener's loop and all requests
}

// grant is a member's right to use the team tools over HTTP.
type grant struct {
	member string
	hash   [sha256.Size]byte // of the token, so that no copy of it lies around
	server *mcp.Server

	mu      sync.Mutex
	revoked bool
	begun   int
	open    map[string]*openRequest // by what requestHeader says
}

// openRequest is an HTTP request under way, with the calls that it carries.
type openRequest struct {
	cancel context.CancelFunc
	calls  []context.CancelFunc
}

// newGrant makes a grant of the tools of a desk.
func newGrant(d *toolDesk, token string) *grant {
	g := &grant{member: d.seat.member.Name, hash: sha256.Sum256([]byte(token)), open: map[string]*openRequest{}}
	g.server = mcpServer(d.list(), func(ctx context.Context, h http.Header, c TeamCall) TeamAnswer {
		// The context is the session's. When the request is gone, so is who
		// could take the answer.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g.tie(h.Get(requestHeader), cancel)
		return d.call(ctx, c)
	})
	return g
}

// mcpFor opens the team tools to the agent of a member: it gives the URL of
// the MCP server (streamable HTTP) and the bearer token to send with every
// request. A member has one token; asking again makes the one before it void.
func (c *crew) mcpFor(s *seat) (url, token string, err error) {
	desk, err := c.desk(s)
	if err != nil {
		return "", "", err
	}
	token = rand.Text() + rand.Text() // 260 bits
	g := newGrant(desk, token)
	old, err := c.tools.admit(g, c.log)
	if err != nil {
		return "", "", fmt.Errorf("serve the team tools: %w", err)
	}
	if old != nil {
		old.revoke()
	}
	return "http://" + c.tools.listener.Addr().String() + mcpPath, token, nil
}

// admit lets a grant in, in place of the one that the member had.
func (t *toolServer) admit(g *grant, log *slog.Logger) (old *grant, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errEnding
	}
	if err := t.open(log); err != nil {
		return nil, err
	}
	if t.grants == nil {
		t.grants = map[string]*grant{}
	}
	old = t.grants[g.member]
	t.grants[g.member] = g
	return old, nil
}

// mcpRevoke makes a member's token void and hangs up on who uses it. Calls
// that have begun go on: they belong to the member, not to the connection.
func (c *crew) mcpRevoke(s *seat) {
	c.tools.mu.Lock()
	g := c.tools.grants[s.member.Name]
	delete(c.tools.grants, s.member.Name)
	c.tools.mu.Unlock()
	if g != nil {
		g.revoke()
	}
}

// desk is where a member's calls go; it is made when it is first needed.
func (c *crew) desk(s *seat) (*toolDesk, error) {
	t := &c.tools
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errEnding
	}
	if d := t.desks[s.member.Name]; d != nil {
		return d, nil
	}
	list, err := foreignTools(c.board, s.actor, c.roster)
	if err != nil {
		return nil, err
	}
	within := t.within
	if within == 0 {
		within = answerWithin
	}
	d := &toolDesk{seat: s, tools: map[string]foreignTool{}, book: newCallBook(within)}
	for _, tool := range list {
		d.tools[tool.Spec().Name] = tool
	}
	if t.desks == nil {
		t.desks = map[string]*toolDesk{}
	}
	t.desks[s.member.Name] = d
	return d, nil
}

// open begins to listen, unless the server does; t.mu is held.
func (t *toolServer) open(log *slog.Logger) error {
	if t.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t.listener = l
	t.http = &http.Server{
		Handler: t.handler(l.Addr().String()), ReadHeaderTimeout: headerWait,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	server := t.http
	t.serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the team tools are no longer served", "err", err)
		}
	})
	return nil
}

// handler lets a request through to its member's tools: not from a web page
// (403), with the token of a member (401), to a loopback address (403), as
// JSON (415).
func (t *toolServer) handler(addr string) http.Handler {
	tools := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return grantOf(r).server }, nil)
	known := auth.RequireBearerToken(t.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	mux := http.NewServeMux()
	mux.Handle(mcpPath, sameOrigin(addr, known(whileGranted(tools))))
	outer := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !t.enter() {
			http.Error(w, errEnding.Error(), http.StatusServiceUnavailable)
			return
		}
		defer t.serving.Done()
		outer.ServeHTTP(w, r)
	})
}

// enter counts a request, which must call serving.Done; false: the server is
// closed.
func (t *toolServer) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.serving.Add(1)
	}
	return !t.closed
}

// sameOrigin refuses what a browser sends for another site's page also where
// http.CrossOriginProtection does not look: with methods that it takes to be
// safe, while a GET here opens a stream of a member's messages.
func sameOrigin(addr string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		origin, has := r.Header["Origin"]
		if has && !ownOrigin(origin, addr) || site == "cross-site" || site == "same-site" {
			http.Error(w, "cross-origin request refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func ownOrigin(origin []string, addr string) bool {
	if len(origin) != 1 {
		return false
	}
	u, err := url.Parse(origin[0])
	return err == nil && u.Scheme == "http" && u.Host == addr
}

// grantKey is under what verify leaves the grant in a token's extra fields.
const grantKey = "grant"

// verify finds the member that a token belongs to. All grants are compared, in
// constant time each, so that the time taken tells nothing of any token.
func (t *toolServer) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	hash := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *grant
	for _, g := range t.grants {
		if subtle.ConstantTimeCompare(hash[:], g.hash[:]) == 1 {
			found = g
		}
	}
	if found == nil || token == "" {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: found.member, Extra: map[string]any{grantKey: found}}, nil
}

// grantOf is what a request was let in with by verify.
func grantOf(r *http.Request) *grant {
	return auth.TokenInfoFromContext(r.Context()).Extra[grantKey].(*grant)
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
			http.Error(w, auth.ErrInvalidToken.Error(), http.StatusUnauthorized)
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
	for s := range g.server.Sessions() {
		_ = s.Close() // its peer is hung up on: there is nobody to tell
	}
}

// close ends the team tools: nobody is let in any more, what is under way is
// cut off, and nothing of it runs when close returns. It may be called more
// than once, and without anything open.
func (t *toolServer) close() {
	t.mu.Lock()
	t.closed = true
	server := t.http
	grants, desks := slices.Collect(maps.Values(t.grants)), slices.Collect(maps.Values(t.desks))
	t.mu.Unlock()
	for _, d := range desks {
		d.book.close()
	}
	for _, g := range grants {
		g.revoke()
	}
	if server != nil {
		_ = server.Close() // it closes a listener that is ours; the error has nothing to say
	}
	t.serving.Wait()
}
