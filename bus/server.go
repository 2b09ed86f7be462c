package bus

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startWait bounds the start of the server, which needs milliseconds.
const startWait = 10 * time.Second

// Embed starts a bus inside this process and connects to it.
func Embed(opts Options) (*Bus, error) {
	opts = opts.withDefaults()
	if opts.Self.PID == 0 {
		opts.Self.PID = os.Getpid()
	}
	g := &grants{open: map[string]*server.Permissions{}}
	srv, err := server.NewServer(serverOptions(opts, g))
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	srv.SetLoggerV2(serverLog{opts.Log}, opts.Log.Enabled(context.Background(), slog.LevelDebug), false,
		false)
	g.account = srv.GlobalAccount
	srv.Start()
	b, err := embedded(srv, g, opts)
	if err != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, err
	}
	return b, nil
}

// embedded connects a new Bus to its server.
func embedded(srv *server.Server, g *grants, opts Options) (*Bus, error) {
	if !srv.ReadyForConnections(startWait) {
		return nil, fmt.Errorf("bus: the embedded server did not start within %v", startWait)
	}
	b := newBus(opts)
	b.srv, b.grants = srv, g
	self := ConnID(newID())
	var err error
	if b.scope, err = b.controlScope(opts.Self, self); err != nil {
		return nil, err
	}
	b.peers[self] = newPeer(opts.Self)
	nopts := b.clientOptions(g.mint(nil), self)
	nopts.InProcessServer = srv
	if b.nc, err = nopts.Connect(); err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	return b, nil
}

func newBus(opts Options) *Bus {
	return &Bus{
		opts: opts, done: make(chan struct{}),
		listeners: map[string]*listener{}, peers: map[ConnID]*peer{}, verbs: map[Verb]bool{}, subs: map[*nats.Subscription]*Subscription{},
	}
}

// clientOptions returns the options of all client connections. They never reconnect,
// because the server and the credentials are gone then.
func (b *Bus) clientOptions(token string, conn ConnID) nats.Options {
	o := nats.GetDefaultOptions()
	o.Url = "nats://covey"
	o.Token = token
	o.InboxPrefix = inboxOf(conn)
	o.AllowReconnect = false
	o.SkipHostLookup = true
	o.AsyncErrorCB = b.onError
	o.ClosedCB = func(*nats.Conn) { close(b.done) }
	return o
}

// serverOptions returns the options of a server that is reachable only by InProcessConn:
// no listener, no signal handlers (its own would end the process), no headers (they carry
// features that permissions do not cover), no JetStream.
func serverOptions(opts Options, g *grants) *server.Options {
	return &server.Options{
		ServerName:                 "covey",
		DontListen:                 true,
		NoSigs:                     true,
		NoLog:                      true,
		NoSystemAccount:            true,
		NoHeaderSupport:            true,
		MaxPayload:                 int32(opts.MaxPayload),
		MaxPending:                 queueBytes,
		MaxConn:                    2*opts.MaxConns + 1, // closed ones count for a moment; one is covey's own
		CustomClientAuthentication: g,
	}
}

// grants holds the credentials that were made and not yet used. Each admits one
// connection once.
type grants struct {
	account func() *server.Account

	mu   sync.Mutex
	open map[string]*server.Permissions
}

// mint makes a credential for one connection with these permissions; nil permissions
// allow everything.
func (g *grants) mint(p *server.Permissions) string {
	token := rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[token] = p
	return token
}

// revoke invalidates an unused credential.
func (g *grants) revoke(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, token)
}

// Check accepts a connection with a valid credential. It implements
// server.Authentication.
func (g *grants) Check(c server.ClientAuthentication) bool {
	token := c.GetOpts().Token
	g.mu.Lock()
	p, ok := g.open[token]
	delete(g.open, token)
	g.mu.Unlock()
	if !ok || c.Kind() != server.CLIENT {
		return false
	}
	c.RegisterUser(&server.User{Permissions: p, Account: g.account()})
	return true
}

// outsidePermissions returns the permissions of a connection from outside: to ask under its own
// name, and to receive its own answers and the growth of the journal; for the operator also
// mail and tasks. These are allow lists; everything else is refused.
func (b *Bus) outsidePermissions(id Identity, scope Subject, conn ConnID) *server.Permissions {
	hears := []string{inboxOf(conn) + ".>", string(b.subject(journalGrown))}
	if b.opts.isOperator(id) {
		hears = append(hears, string(b.subject(mailRoot, "*")), string(b.subject(taskChanges)))
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{string(scope) + ".>"}},
		Subscribe: &server.SubjectPermission{Allow: hears},
	}
}

// serverLog passes the server's log to slog, at lower levels, because it only helps to
// debug covey.
type serverLog struct{ log *slog.Logger }

func (l serverLog) at(level slog.Level, format string, args []any) {
	if ctx := context.Background(); l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, fmt.Sprintf(format, args...), "part", "bus")
	}
}

// Noticef logs a notice at level debug.
func (l serverLog) Noticef(f string, v ...any) { l.at(slog.LevelDebug, f, v) }

// Warnf logs a warning.
func (l serverLog) Warnf(f string, v ...any) { l.at(slog.LevelWarn, f, v) }

// Errorf logs an error.
func (l serverLog) Errorf(f string, v ...any) { l.at(slog.LevelError, f, v) }

// Debugf logs a detail.
func (l serverLog) Debugf(f string, v ...any) { l.at(slog.LevelDebug, f, v) }

// Tracef logs a detail; tracing is never enabled.
func (l serverLog) Tracef(f string, v ...any) { l.at(slog.LevelDebug, f, v) }

// Fatalf logs an error. Unlike the server's own logger it does not end the process: Embed
// sees that the server is not ready.
func (l serverLog) Fatalf(f string, v ...any) { l.at(slog.LevelError, f, v) }
