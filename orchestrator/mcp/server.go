// Package mcp speaks the Model Context Protocol in both directions. It serves the tools of a
// team to members whose agents are programs of their own: over HTTP on loopback, and on the
// streams of `covey mcp`. And it is the client of the MCP servers that a team uses. It is
// covey's own and makes no promise to other programs.
//
// Each member's program gets a token. The token names the member and counts only
// from a process of that member; the next program of the member gets another one.
// A program that gives up waiting and makes the same call again gets the answer
// of the first call, so no message is sent twice.
//
// # Clients
//
// Clients are the MCP servers of the spec, whose tools members with the builtin agent have, and those
// of plugins, which hooks call. All members share a server. It starts when its tools are first needed,
// and a turn waits for it a few seconds only: its tools come with a later request then. A server that
// ends is started again, with pauses that grow, and each end and start is a warning in the journal.
// While it is down, its calls fail with one line.
//
// What a server says of itself is foreign text. Its tools get names that covey makes, unique and in
// the letters that model APIs take; their descriptions and schemas are bounded. Its hint that a tool
// only reads is not believed where that would run a call without a person's or a rule's consent, and
// no call is repeated after a crash, because nobody knows what it did.
//
// A server's question (elicitation) goes to the hooks of the member whose call is running; without an
// answer it is cancelled. A server of the spec has the team's environment without the keys that covey
// holds for models.
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

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/view"
)

// path is the URL path of the team tools.
const path = "/mcp"

// headerWait limits how long a connection may take to send the header of a
// request.
const headerWait = 10 * time.Second

// Server serves the team tools to members whose agents are separate programs. It
// has one listener on loopback for the whole team, opened when the first member
// needs it, and one desk per member. Only its bearer token identifies a caller,
// and it is valid only from a process of that member.
type Server struct {
	deps Deps

	mu       sync.Mutex
	closed   bool
	desks    map[string]*desk  // by member
	grants   map[string]*grant // by member
	listener net.Listener      // nil until a member needs it
	http     *http.Server
	serving  sync.WaitGroup // the listener's loop and all requests
}

// Deps configure a Server. All fields except Within must be set.
type Deps struct {
	Log       *slog.Logger
	Processes *process.Processes // whose processes may use a token
	State     *view.Live         // what the members do
	Members   Members
	NoSeat    func(member string) error // the error for a member without a session
	Append    func(events.Event)        // to the journal
	Within    time.Duration             // limit for the answer to a call; 0 for 40 seconds
}

// Members finds members. The seats of the crew implement it.
type Members interface {
	// Caller returns the Caller of a member's current session.
	Caller(member string) (*Caller, bool)
}

// New makes the server of a team. The server begins to listen when a member needs
// it.
func New(o Deps) *Server {
	o.Within = cmp.Or(o.Within, answerWithin)
	return &Server{deps: o, desks: map[string]*desk{}, grants: map[string]*grant{}}
}

// Admit gives a member's agent program access to the team tools. It returns the
// URL of the MCP server (streamable HTTP) and the bearer token to send with each
// request. A member has one token; another call revokes the one before. lists
// says that the program must list the tools before it works; Saw warns if it
// does not.
func (t *Server) Admit(m *members.Member, lists bool) (url, token string, err error) {
	d, err := t.desk(m.Name)
	if err != nil {
		return "", "", err
	}
	// 260 bits cannot be guessed, so failures are not counted.
	token = rand.Text() + rand.Text()
	g := newGrant(d, token, t.deps.Processes)
	g.unasked.Store(lists)
	old, err := t.admit(g)
	if err != nil {
		return "", "", fmt.Errorf("serve the team tools: %w", err)
	}
	if old != nil { // the agent was restarted, and the old process's token must not stay valid
		old.revoke()
	}
	return "http://" + t.listener.Addr().String() + path, token, nil
}

// InBox returns the address of the URL of Admit, and what serves the team tools there in a network of a
// member's own: what connects to that listener is a process of the member.
func (t *Server) InBox(m *members.Member) (address string, serve func(net.Listener), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", nil, errEnding
	}
	if err := t.open(); err != nil {
		return "", nil, fmt.Errorf("serve the team tools: %w", err)
	}
	server := t.http
	return t.listener.Addr().String(), func(l net.Listener) {
		_ = server.Serve(process.MemberListener(l, m.Name)) // it ends with the listener, or with the server
	}, nil
}

// admit adds a grant, and returns the one that it replaces, if any.
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

// Stopped revokes what remaining processes of the member's agent could act with. It implements
// crew.Stopper.
func (t *Server) Stopped(m *members.Member) error {
	t.Revoke(m)
	return nil
}

// Ended is Close. It implements crew.Ender.
func (t *Server) Ended(context.Context) error {
	t.Close()
	return nil
}

// Revoke revokes a member's token and closes its connections. Calls that have
// begun continue, because they belong to the member and not to the connection.
func (t *Server) Revoke(m *members.Member) {
	t.mu.Lock()
	g := t.grants[m.Name]
	delete(t.grants, m.Name)
	t.mu.Unlock()
	if g != nil {
		g.revoke()
	}
}

// Call carries out a call from the bus. Its As must have been checked.
func (t *Server) Call(ctx context.Context, call api.TeamCall) (api.TeamAnswer, error) {
	d, err := t.desk(call.As)
	if err != nil {
		return api.TeamAnswer{}, err
	}
	return d.call(ctx, call), nil
}

// desk returns the desk of a member, and makes it at the first call of a session.
//
// A desk belongs to one session of its member and uses that session's epoch.
// Calls of an earlier session are canceled; the store would refuse them anyway.
func (t *Server) desk(member string) (*desk, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errEnding
	}
	// It holds the lock, so that a slow call cannot restore the desk of an
	// earlier session.
	c, ok := t.deps.Members.Caller(member)
	if !ok {
		return nil, t.deps.NoSeat(member)
	}
	old := t.desks[member]
	if old != nil && old.caller == c {
		return old, nil
	}
	list, err := c.Tools()
	if err != nil {
		return nil, err
	}
	d := &desk{caller: c, state: t.deps.State, tools: map[string]teamtools.Tool{}, book: newCallBook(t.deps.Within)}
	for _, tool := range list {
		d.tools[tool.Spec().Name] = tool
	}
	t.desks[member] = d
	if old != nil {
		t.serving.Go(old.book.close)
	}
	return d, nil
}

// open begins to listen, unless the server already does. t.mu must be held.
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
		ErrorLog: slog.NewLogLogger(t.deps.Log.Handler(), slog.LevelDebug), ConnContext: process.WithConnection,
	}
	server := t.http
	t.serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.deps.Log.Error("the team tools are no longer served", "err", err)
		}
	})
	return nil
}

// handler passes a request to its member's tools if it does not come from a web
// page (else 403), has the token of a member (401), is for a loopback address
// (403), and is JSON (415).
func (t *Server) handler(addr string) http.Handler {
	tools := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return grantOf(r).server }, nil)
	// Tokens do not expire: they are valid while the team's process runs.
	known := auth.RequireBearerToken(t.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	mux := http.NewServeMux()
	mux.Handle(path, sameOrigin(addr, known(whileGranted(tools))))
	// Requests of browsers are refused before their tokens are checked.
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

// enter counts a request, which must call serving.Done. It returns false if the
// server is closed.
func (t *Server) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.serving.Add(1)
	}
	return !t.closed
}

// sameOrigin refuses cross-origin requests of browsers also for methods that
// http.CrossOriginProtection considers safe, because a GET opens a stream of a
// member's messages.
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

// ownOrigin reports whether an Origin is the server's own. The server has no
// pages, and agents send no Origin.
func ownOrigin(origin []string, addr string) bool {
	if len(origin) != 1 {
		return false
	}
	u, err := url.Parse(origin[0])
	return err == nil && u.Scheme == "http" && u.Host == addr
}

// errOldToken is returned for an unknown token, usually a revoked one. It
// explains the reason to a program that was stopped and sends a late request.
var errOldToken = fmt.Errorf("%w: it was never given out, or the agent program that had it has ended or was restarted",
	auth.ErrInvalidToken)

// grantKey is the key of the grant in the extra fields of a token.
const grantKey = "grant"

// verify finds the member that a token belongs to, and checks that a process of
// that member sent it.
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

// grantFor returns the grant with a token, or nil. It compares all grants in
// constant time, so that the duration reveals nothing about a token.
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

// Close stops the server: it refuses new requests, cancels running calls, and
// waits for them. It may be called more than once, and before the server listens.
func (t *Server) Close() {
	t.mu.Lock()
	t.closed = true
	server := t.http
	grants, desks := slices.Collect(maps.Values(t.grants)), slices.Collect(maps.Values(t.desks))
	t.mu.Unlock()
	// The calls end first, so that their answers can still be sent.
	for _, d := range desks {
		d.book.close()
	}
	for _, g := range grants {
		g.revoke()
	}
	if server != nil {
		_ = server.Close() // it only closes our listener, so the error does not matter
	}
	t.serving.Wait()
}
