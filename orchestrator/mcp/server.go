// Package mcp serves the tools of a team to members whose agents are programs of their own:
// over HTTP on loopback, and on the streams of `covey mcp`. It is covey's own and makes no
// promise to other programs.
//
// Each member's program gets a token. The token names the member and counts only from a
// process of that member; the next program of the member gets another one. A program that
// gives up waiting and makes the same call again gets the answer of the first call, so no
// message is sent twice.
package mcp

import (
	"cmp"
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
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
)

// path is where the team tools are served.
const path = "/mcp"

// headerWait is how long a connection may take to send the head of a request.
const headerWait = 10 * time.Second

// Server serves the team tools to members whose agents are programs of their own: one
// listener on loopback for the whole team, opened when the first member needs it, and one
// desk per member. Who a caller is follows from its bearer token, which counts only from a
// process of that member, and from nothing else that it says.
type Server struct {
	options Options

	mu       sync.Mutex
	closed   bool
	desks    map[string]*desk  // by member
	grants   map[string]*grant // by member
	listener net.Listener      // nil: nobody has needed one
	http     *http.Server
	serving  sync.WaitGroup // the listener's loop and all requests
}

// Options are what a Server needs. All but Within must be set.
type Options struct {
	Log       *slog.Logger
	Processes *process.Processes // whose processes may use a token
	Watch     *lives.Watch       // what the members do
	Members   Members
	Within    time.Duration // how long a call may stay without an answer; 0: 40 seconds
}

// Members finds members. The crew does.
type Members interface {
	// Caller returns a member in its present life. It fails if there is no such member.
	Caller(member string) (*Caller, error)
}

// New makes the server of a team. It listens once a member needs it.
func New(o Options) *Server {
	o.Within = cmp.Or(o.Within, answerWithin)
	return &Server{options: o, desks: map[string]*desk{}, grants: map[string]*grant{}}
}

// Admit opens the team tools to the agent program of a member: it gives the URL of
// the MCP server (streamable HTTP) and the bearer token to send with every
// request. A member has one token; asking again makes the one before it void. Lists says
// that the program has to ask which tools there are before it works; Missed tells if it
// does not.
func (t *Server) Admit(m *roster.Member, lists bool) (url, token string, err error) {
	d, err := t.desk(m.Name)
	if err != nil {
		return "", "", err
	}
	// 260 bits: nobody guesses a token, so failures are not counted.
	token = rand.Text() + rand.Text()
	g := newGrant(d, token, t.options.Processes)
	g.unasked.Store(lists)
	old, err := t.admit(g)
	if err != nil {
		return "", "", fmt.Errorf("serve the team tools: %w", err)
	}
	if old != nil { // an agent that was started anew: the dead one's token must not live on
		old.revoke()
	}
	return "http://" + t.listener.Addr().String() + path, token, nil
}

// admit lets a grant in, in place of the one that the member had.
func (t *Server) admit(g *grant) (old *grant, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errEnding
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	old = t.grants[g.member]
	t.grants[g.member] = g
	return old, nil
}

// Revoke makes a member's token void and hangs up on who uses it. Calls
// that have begun go on: they belong to the member, not to the connection.
func (t *Server) Revoke(m *roster.Member) {
	t.mu.Lock()
	g := t.grants[m.Name]
	delete(t.grants, m.Name)
	t.mu.Unlock()
	if g != nil {
		g.revoke()
	}
}

// Call carries out a call that came over the bus; its As has been checked.
func (t *Server) Call(ctx context.Context, call api.TeamCall) (api.TeamAnswer, error) {
	d, err := t.desk(call.As)
	if err != nil {
		return api.TeamAnswer{}, err
	}
	return d.call(ctx, call), nil
}

// desk returns what carries out a member's calls. It is made when the member's life first
// needs it.
//
// A desk belongs to one life of its member and acts under that life's epoch. Calls of an
// earlier life are cut off; the store would refuse them anyway.
func (t *Server) desk(member string) (*desk, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errEnding
	}
	// Under the lock: a call that has been slow must not bring back the desk of an earlier life.
	c, err := t.options.Members.Caller(member)
	if err != nil {
		return nil, err
	}
	old := t.desks[member]
	if old != nil && old.caller == c {
		return old, nil
	}
	list, err := c.Tools()
	if err != nil {
		return nil, err
	}
	d := &desk{caller: c, watch: t.options.Watch, tools: map[string]teamtools.Tool{}, book: newCallBook(t.options.Within)}
	for _, tool := range list {
		d.tools[tool.Spec().Name] = tool
	}
	t.desks[member] = d
	if old != nil {
		t.serving.Go(old.book.close)
	}
	return d, nil
}

// open begins to listen, unless the server does; t.mu is held.
func (t *Server) open() error {
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
		ErrorLog: slog.NewLogLogger(t.options.Log.Handler(), slog.LevelDebug), ConnContext: withConnection,
	}
	server := t.http
	t.serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.options.Log.Error("the team tools are no longer served", "err", err)
		}
	})
	return nil
}

// handler lets a request through to its member's tools: not from a web page
// (403), with the token of a member (401), to a loopback address (403), as
// JSON (415).
func (t *Server) handler(addr string) http.Handler {
	tools := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return grantOf(r).server }, nil)
	// Tokens do not expire: they are valid while the team's process runs.
	known := auth.RequireBearerToken(t.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	mux := http.NewServeMux()
	mux.Handle(path, sameOrigin(addr, known(whileGranted(tools))))
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
func (t *Server) enter() bool {
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

// ownOrigin reports whether an Origin is the server's own. The server has no pages, and
// agents send no Origin.
func ownOrigin(origin []string, addr string) bool {
	if len(origin) != 1 {
		return false
	}
	u, err := url.Parse(origin[0])
	return err == nil && u.Scheme == "http" && u.Host == addr
}

// errOldToken refuses an unknown token, usually a revoked one: a program that was stopped or
// cut off and speaks late reads why.
var errOldToken = fmt.Errorf("%w: it was never given out, or the agent program that had it has ended or was begun anew",
	auth.ErrInvalidToken)

// grantKey is the key of the grant in a token's extra fields.
const grantKey = "grant"

// verify finds the member that a token belongs to, and checks that a process of that member
// sent it.
func (t *Server) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	found := t.grantFor(token)
	if found == nil || token == "" {
		return nil, errOldToken
	}
	if err := found.mayUse(ctx); err != nil {
		return nil, err
	}
	return &auth.TokenInfo{UserID: found.member, Extra: map[string]any{grantKey: found}}, nil
}

// grantFor finds the grant with a token; nil if there is none. It compares all grants in
// constant time, so that the time taken says nothing about any token.
func (t *Server) grantFor(token string) *grant {
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

// grantOf returns the grant that verify found for a request.
func grantOf(r *http.Request) *grant {
	return auth.TokenInfoFromContext(r.Context()).Extra[grantKey].(*grant)
}

// Close stops the server: it refuses new requests, cuts off calls that are under way, and
// waits for them. It may be called more than once, and before the server listens.
func (t *Server) Close() {
	t.mu.Lock()
	t.closed = true
	server := t.http
	grants, desks := slices.Collect(maps.Values(t.grants)), slices.Collect(maps.Values(t.desks))
	t.mu.Unlock()
	// The calls come first, so that their answers can still go out.
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
