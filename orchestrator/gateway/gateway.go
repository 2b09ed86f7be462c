package gateway

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// Deps are what a Gateway needs from the team. All fields must be set.
type Deps struct {
	Log       *slog.Logger
	Processes *process.Processes // whose processes may use a token
	Clock     members.Clock
	// Turn returns the number of a member's turn.
	Turn func(member string) int
	// Left returns why a member may make no request to a model, by its name with its provider; nil: it may. The name is
	// empty if the request costs nothing.
	Left func(member, model string) error
	// Price returns what tokens of a model cost, by the model's name with its provider.
	Price func(member string, u agent.Usage, model string) float64
	// Count counts what a request of a member has used.
	Count func(member string, used events.TokensUsed)
}

// Gateway is the gateway of a team. It is safe for concurrent use.
type Gateway struct {
	deps Deps

	mu     sync.Mutex
	closed bool
	doors  map[*Door]bool
	logins map[string]time.Time // until when the vendor wants a login to wait
}

// New returns the gateway of a team. It listens when a member's program needs it.
func New(d Deps) *Gateway {
	return &Gateway{deps: d, doors: map[*Door]bool{}, logins: map[string]time.Time{}}
}

// Access is what the program of a member may reach.
type Access struct {
	Member string
	// Hosts are the hosts of the models, by API as in script.API; requests of an API without one are refused.
	Hosts  map[string]Host
	Models []configs.ModelList // each has the models that may be asked
	// PassesLogin names the account of a program that logs in by itself, which other members may share: its
	// credentials pass, and have no token. Empty: it has a token.
	PassesLogin string
	// MaxRequests is how many requests with tools a turn may have; 0: any number.
	MaxRequests int
	// Lane records what passes, or answers in place of hosts; nil: neither.
	Lane *recordings.Lane
}

// errEnding is the error of a program that starts while the team ends.
var errEnding = errors.New("the team is ending")

// Open opens a door for the program of a member, which listens on an address of its own. Close the
// door when the program has ended for good.
func (g *Gateway) Open(a Access) (*Door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	// Programs check the form of a key before they use it; this one is valid for all vendors.
	d := &Door{gateway: g, Access: a, address: l.Addr().String(), token: "sk-covey-" + rand.Text() + rand.Text()}
	d.proxy = &httputil.ReverseProxy{
		Rewrite: d.rewrite, Transport: g.transport(a.PassesLogin, a.Lane, hosts()), FlushInterval: -1, BufferPool: buffers{},
		ModifyResponse: d.answered, ErrorHandler: d.failed, ErrorLog: slog.NewLogLogger(g.deps.Log.Handler(), slog.LevelDebug),
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errors.Join(errEnding, l.Close())
	}
	g.doors[d] = true
	d.serving.Go(func() { d.serve(l) })
	return d, nil
}

// Close closes all doors.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	doors := g.doors
	g.doors = map[*Door]bool{}
	g.mu.Unlock()
	for d := range doors {
		d.Close()
	}
}

// longWait is the longest time that a request waits here for its login. After a longer one the member
// waits, and with it all on its login.
const longWait = 30 * time.Second

// await waits until the vendor takes requests of a login again.
func (g *Gateway) await(ctx context.Context, login string) error {
	for {
		g.mu.Lock()
		until := g.logins[login]
		g.mu.Unlock()
		rest := until.Sub(g.deps.Clock.Now())
		switch {
		case rest <= 0:
			return nil
		case rest > longWait:
			return &agent.LimitError{Until: until, Text: "the vendor has asked this login to wait"}
		}
		if err := agent.Sleep(ctx, rest); err != nil {
			return err
		}
	}
}

// hold makes all requests of a login wait.
func (g *Gateway) hold(login string, wait time.Duration) {
	until := g.deps.Clock.Now().Add(wait)
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.logins[login]) {
		g.logins[login] = until
	}
}

// Door is the way of one member's program to its models.
type Door struct {
	Access
	gateway *Gateway
	address string
	token   string
	proxy   *httputil.ReverseProxy
	serving sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	servers  []*http.Server
	asked    int  // requests to models, since the program was given its door
	spoke    bool // the program has answered a prompt or called a tool
	turn     int  // of requests
	requests int  // with tools, in that turn
	verdict  error
	remark   string                  // what may explain a turn that fails
	cancel   context.CancelCauseFunc // of the prompt that runs; nil: none
}

// URL is what the program's base URLs begin with.
func (d *Door) URL() string { return "http://" + d.address }

// Address is where the door listens, for a box that has this address handed in.
func (d *Door) Address() string { return d.address }

// Token is what the program sends in place of a key.
func (d *Door) Token() string { return d.token }

// Serve serves a listener that only processes of the member can reach, such as one in the network of
// its box, until the listener is closed.
func (d *Door) Serve(l net.Listener) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		_ = l.Close()
		return
	}
	d.serving.Add(1)
	d.mu.Unlock()
	defer d.serving.Done()
	d.serve(process.MemberListener(l, d.Member))
}

// serve serves a listener.
func (d *Door) serve(l net.Listener) {
	server := &http.Server{
		Handler:     script.OwnOnly(http.HandlerFunc(d.pass)),
		ConnContext: process.WithConnection, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(d.gateway.deps.Log.Handler(), slog.LevelDebug),
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		_ = l.Close()
		return
	}
	d.servers = append(d.servers, server)
	d.mu.Unlock()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		d.gateway.deps.Log.Error("a gateway has ended", "member", d.Member, "err", err)
	}
}

// Close ends all requests. It may be called more than once.
func (d *Door) Close() {
	d.gateway.mu.Lock()
	delete(d.gateway.doors, d)
	d.gateway.mu.Unlock()
	d.mu.Lock()
	d.closed = true
	servers := d.servers
	d.servers = nil
	d.mu.Unlock()
	for _, s := range servers {
		_ = s.Close() // the connections end with it
	}
	d.serving.Wait()
}

// knows reports whether a request has the door's token.
func (d *Door) knows(r *http.Request) bool {
	return d.PassesLogin != "" || subtle.ConstantTimeCompare([]byte(script.KeyOf(r)), []byte(d.token)) == 1
}
