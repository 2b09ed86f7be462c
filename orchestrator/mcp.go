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
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// mcpPath is where the team tools are served.
const mcpPath = "/mcp"

// headerWait is how long a connection may take to send the head of a request.
const headerWait = 10 * time.Second

// toolServer serves the team tools to members whose agents are programs of
// their own: one listener on loopback for the whole team, opened when the
// first member needs it, and one desk per member. Who a caller is follows from
// its bearer token, which counts only from a process of that member, and from nothing
// else that it says. The zero value serves nobody yet.
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

// mcpFor opens the team tools to the agent of a member: it gives the URL of
// the MCP server (streamable HTTP) and the bearer token to send with every
// request. A member has one token; asking again makes the one before it void.
func (c *crew) mcpFor(s *seat) (url, token string, err error) {
	desk, err := c.desk(s)
	if err != nil {
		return "", "", err
	}
	// 260 bits: a token is guessed by nobody, so no count of failures is kept.
	token = rand.Text() + rand.Text()
	g := newGrant(desk, token)
	old, err := c.tools.admit(g, c.log)
	if err != nil {
		return "", "", fmt.Errorf("serve the team tools: %w", err)
	}
	if old != nil { // an agent that was started anew: the dead one's token must not live on
		old.revoke()
	}
	return "http://" + c.tools.listener.Addr().String() + mcpPath, token, nil
}

// admitProgram is mcpFor for the program of a member. Lists says that the program has to
// ask which tools there are before it works; missTools warns if it does not.
func (c *crew) admitProgram(m *roster.Member, lists bool) (url, token string, err error) {
	s, ok := c.seat(m.Name)
	if !ok {
		return "", "", c.board.Known(m.Name)
	}
	url, token, err = c.mcpFor(s)
	if g := c.tools.grantOf(m.Name); g != nil {
		g.unasked.Store(lists)
	}
	return url, token, err
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
func (c *crew) mcpRevoke(m *roster.Member) {
	c.tools.mu.Lock()
	g := c.tools.grants[m.Name]
	delete(c.tools.grants, m.Name)
	c.tools.mu.Unlock()
	if g != nil {
		g.revoke()
	}
}

// desk is where a member's calls go; it is made when the member's life first needs it.
//
// A desk belongs to one life of its member, whose epoch it acts under: what the life
// before it has left there is cut off, as the store would refuse it anyway.
func (c *crew) desk(s *seat) (*toolDesk, error) {
	t := &c.tools
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errEnding
	}
	old := t.desks[s.member.Name]
	if old != nil && old.seat == s {
		return old, nil
	}
	list, err := s.teamTools(teamtools.MCPNames)
	if err != nil {
		return nil, err
	}
	within := t.within
	if within == 0 {
		within = answerWithin
	}
	d := &toolDesk{seat: s, tools: map[string]teamtools.Tool{}, book: newCallBook(within)}
	for _, tool := range list {
		d.tools[tool.Spec().Name] = tool
	}
	if t.desks == nil {
		t.desks = map[string]*toolDesk{}
	}
	t.desks[s.member.Name] = d
	if old != nil {
		t.serving.Go(old.book.close)
	}
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
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), ConnContext: withCaller,
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
	// The tokens live as long as the team's process; they have no date.
	known := auth.RequireBearerToken(t.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	mux := http.NewServeMux()
	mux.Handle(mcpPath, sameOrigin(addr, known(whileGranted(tools))))
	// What a browser sends is refused before anything looks at its token.
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

// ownOrigin says whether an Origin is the server's own. No page is served here,
// so in earnest there is none: agents send no Origin at all.
func ownOrigin(origin []string, addr string) bool {
	if len(origin) != 1 {
		return false
	}
	u, err := url.Parse(origin[0])
	return err == nil && u.Scheme == "http" && u.Host == addr
}

// errOldToken refuses a token that is nobody's. Most of those that come were somebody's:
// a program that was stopped or cut off and speaks late is to read why.
var errOldToken = fmt.Errorf("%w: it was never given out, or the agent program that had it has ended or was begun anew",
	auth.ErrInvalidToken)

// grantKey is under what verify leaves the grant in a token's extra fields.
const grantKey = "grant"

// verify finds the member that a token belongs to, and whether who brings it is a process
// of that member.
func (t *toolServer) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	found := t.grantFor(token)
	if found == nil || token == "" {
		return nil, errOldToken
	}
	if err := found.mayUse(ctx); err != nil {
		return nil, err
	}
	return &auth.TokenInfo{UserID: found.member, Extra: map[string]any{grantKey: found}}, nil
}

// grantFor finds the grant with a token; nil: there is none. All grants are compared, in
// constant time each, so that the time taken tells nothing of any token.
func (t *toolServer) grantFor(token string) *grant {
	hash := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *grant
	for _, g := range t.grants {
		if subtle.ConstantTimeCompare(hash[:], g.hash[:]) == 1 {
			found = g
		}
	}
	return found
}

// grantOf is what a request was let in with by verify.
func grantOf(r *http.Request) *grant {
	return auth.TokenInfoFromContext(r.Context()).Extra[grantKey].(*grant)
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
	// First the work, whose answers may still go out, then who waits for them.
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
