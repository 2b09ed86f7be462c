package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Defaults and limits of a Bus.
const (
	// DefaultMaxPayload bounds a message with its envelope, in bytes.
	DefaultMaxPayload = 4 << 20
	// DefaultQueue bounds the queued messages of one subscription.
	DefaultQueue = 1 << 16
	// DefaultMaxConns bounds the concurrent connections that Listen serves.
	DefaultMaxConns = 256
	// maxOpenRequests bounds the open requests of one connection; the next is answered
	// with CodeBusy.
	maxOpenRequests = 32
	// queueBytes bounds the queue of one subscription, in bytes.
	queueBytes = 64 << 20
)

// Options tune a Bus. The zero value works.
type Options struct {
	Team       string       // the team's name, which its subjects hold; default "covey"
	Self       Identity     // the caller of requests from inside; default self/self
	Log        *slog.Logger // receives the server's log; nil: discarded
	MaxPayload int          // bytes; 0: DefaultMaxPayload
	Queue      int          // messages per subscription; 0: DefaultQueue
	MaxConns   int          // connections from outside; 0: DefaultMaxConns
	// MaxOfCaller bounds the connections of one caller (kind and name); 0: MaxConns.
	MaxOfCaller int
	// Operator reports whether a caller is the team's operator, who may listen to mail and
	// tasks and use the reserved connections; MaxOfCaller does not apply to it. nil: nobody
	// is, and no connections are reserved.
	Operator func(Identity) bool

	// OnError is called with errors that no call can return: a *DropError, a *PanicError,
	// or an error of the connection. It must not block, and may be called from several
	// goroutines. nil: it is ignored.
	OnError func(error)
}

func (o Options) withDefaults() Options {
	if o.Team == "" {
		o.Team = "covey"
	}
	if o.Self == (Identity{}) {
		o.Self = Identity{Kind: "self", Name: "self"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxPayload <= 0 {
		o.MaxPayload = DefaultMaxPayload
	}
	if o.Queue <= 0 {
		o.Queue = DefaultQueue
	}
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o
}

// isOperator reports whether a caller is the team's operator.
func (o *Options) isOperator(id Identity) bool { return o.Operator != nil && o.Operator(id) }

// Bus is one connection to a team's bus, and the server too if it was made by
// Embed. It is safe for concurrent use.
type Bus struct {
	opts   Options
	nc     *nats.Conn
	scope  Subject        // for this connection's own requests
	srv    *server.Server // nil for a Bus made by Dial
	grants *grants        // nil for a Bus made by Dial
	done   chan struct{}  // closed when nc is
	work   sync.WaitGroup // handlers and bridges

	closing  sync.Once
	closeErr error // set by closing

	gate sync.RWMutex // held for reading by each callback
	shut bool         // no callback may begin

	mu        sync.Mutex // guards the fields below
	closed    bool
	verbs     map[Verb]bool // that have a handler
	peers     map[ConnID]*peer
	callers   places
	subs      map[*nats.Subscription]*Subscription
	listeners map[string]*listener // by path
}

// Subscription is one callback on the bus.
type Subscription struct {
	bus  *Bus
	sub  *nats.Subscription
	lost func() // called when messages were dropped; nil: nobody has to know
}

// Close ends the subscription. Further calls do nothing. A running callback continues.
func (s *Subscription) Close() error {
	s.bus.mu.Lock()
	_, open := s.bus.subs[s.sub]
	delete(s.bus.subs, s.sub)
	s.bus.mu.Unlock()
	if !open {
		return nil
	}
	err := s.sub.Unsubscribe()
	if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrBadSubscription) {
		return nil
	}
	return err
}

// Done returns a channel that is closed when the bus is: by Close, and for a Bus made by
// Dial also when the team is gone.
func (b *Bus) Done() <-chan struct{} { return b.done }

// Close ends the bus: listeners, connections, callbacks and the server. Open requests
// have closeWait to finish and are answered; then their contexts are canceled. When Close
// returns, no callback runs, so it must not be called from one. Further calls wait like
// the first.
func (b *Bus) Close() error {
	b.closing.Do(func() { b.closeErr = b.close() })
	return b.closeErr
}

// close does the work of the first Close.
func (b *Bus) close() error {
	b.mu.Lock()
	b.closed = true
	listeners, peers := b.listeners, b.peers
	b.listeners, b.peers = nil, nil
	b.mu.Unlock()
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	b.finish(peers)
	b.nc.Close()
	<-b.done
	b.gate.Lock() // waits for the callbacks that run
	b.shut = true
	b.gate.Unlock()
	if b.srv != nil {
		b.srv.Shutdown() // sends what clients have not read yet
		b.srv.WaitForShutdown()
	}
	for _, p := range peers {
		if len(p.ends) == 0 {
			p.close() // it has no bridge that would close it
		}
	}
	b.work.Wait()
	return errors.Join(errs...)
}

// closeWait bounds the two waits of Close: for open requests, and for callers to read
// their answers.
const closeWait = 5 * time.Second

// finish waits for the open requests of peers and sends their answers. It starts no new
// ones.
func (b *Bus) finish(peers map[ConnID]*peer) {
	late := time.AfterFunc(closeWait, func() {
		for _, p := range peers {
			p.cancel()
		}
	})
	defer late.Stop()
	for _, p := range peers {
		p.finish()
	}
	// An error means that the connection is lost already.
	_ = b.nc.FlushTimeout(flushWait)
}

// delivery is a message as received.
type delivery = *nats.Msg

// subscribe calls f for each message on subject, one at a time, and lost when messages
// were dropped because f was too slow. When it returns, the server has registered the
// subscription.
func (b *Bus) subscribe(subject Subject, f func(delivery), lost func()) (*Subscription, error) {
	s := &Subscription{bus: b, lost: lost}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	sub, err := b.nc.Subscribe(string(subject), func(m *nats.Msg) { b.deliver(subject, f, m) })
	if err != nil {
		return nil, b.explain(err)
	}
	s.sub = sub
	b.subs[sub] = s
	if err := sub.SetPendingLimits(b.opts.Queue, queueBytes); err != nil {
		return nil, b.explain(err)
	}
	if err := b.nc.FlushTimeout(flushWait); err != nil {
		return nil, b.explain(err)
	}
	return s, nil
}

// deliver runs one callback, unless the bus has closed.
func (b *Bus) deliver(subject Subject, f func(delivery), d delivery) {
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.shut {
		return
	}
	defer b.contain(subject)
	f(d)
}

// flushWait is how long a healthy bus may take for a round trip.
const flushWait = 10 * time.Second

// publish sends raw bytes.
func (b *Bus) publish(subject Subject, data []byte) error {
	if err := b.nc.Publish(string(subject), data); err != nil {
		return b.explain(err)
	}
	return nil
}

// contain recovers from a callback's panic.
func (b *Bus) contain(subject Subject) {
	if v := recover(); v != nil {
		b.opts.OnError(&PanicError{Subject: subject, Value: fmt.Sprint(v), Stack: string(debug.Stack())})
	}
}

// explain converts errors of the client library to ours.
func (b *Bus) explain(err error) error {
	switch {
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		return ErrClosed
	default:
		return fmt.Errorf("bus: %w", err)
	}
}

// onError handles errors that the client library reports outside of any call.
func (b *Bus) onError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if sub == nil || !errors.Is(err, nats.ErrSlowConsumer) {
		b.opts.OnError(b.explain(err))
		return
	}
	dropped, _ := sub.Dropped()
	drop := &DropError{Subject: Subject(sub.Subject), Dropped: dropped}
	b.mu.Lock()
	s := b.subs[sub]
	b.mu.Unlock()
	if s != nil && s.lost != nil {
		s.lost()
	}
	b.opts.OnError(drop)
}
