package bus

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// newID returns a unique id; ids sort by time.
func newID() string { return ulid.Make().String() }

// Caller is the sender of a request, as determined by the receiver.
type Caller struct {
	Identity
	Conn ConnID // the same for all requests of one connection
	ID   string // of the request, a ULID

	gone <-chan struct{}
}

// Gone returns a channel that is closed when the caller's connection is.
func (c Caller) Gone() <-chan struct{} { return c.gone }

// peer is a connection as its receiver sees it.
type peer struct {
	identity Identity
	ends     []net.Conn // of the bridge to the caller; none for the process itself
	gone     chan struct{}
	open     sync.WaitGroup // open requests

	mu        sync.Mutex
	next      int
	cancels   map[int]context.CancelFunc // of the open requests
	finishing bool                       // no request may begin
	closed    bool
}

func newPeer(id Identity, ends ...net.Conn) *peer {
	return &peer{identity: id, ends: ends, gone: make(chan struct{}), cancels: map[int]context.CancelFunc{}}
}

// begin registers an open request; cancel is called if the connection ends first. It
// returns false if the peer is gone or has too many open requests; otherwise the caller
// must call end.
func (p *peer) begin(cancel context.CancelFunc) (end func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.finishing || len(p.cancels) >= maxOpenRequests {
		return nil, false
	}
	p.next++
	n := p.next
	p.cancels[n] = cancel
	p.open.Add(1)
	return func() {
		defer p.open.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.cancels, n)
	}, true
}

// finish waits for the open requests and starts no new ones. After that the caller has
// closeWait to read its answers.
func (p *peer) finish() {
	p.mu.Lock()
	p.finishing = true
	p.mu.Unlock()
	p.open.Wait()
	for _, c := range p.ends {
		// An error means that the connection is over, which ends the wait as well.
		_ = c.SetWriteDeadline(time.Now().Add(closeWait))
	}
}

// cancel cancels the open requests.
func (p *peer) cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.cancels {
		cancel()
	}
}

// close ends the connection and cancels its open requests.
func (p *peer) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.mu.Unlock()
	close(p.gone)
	p.cancel()
	for _, c := range p.ends {
		// The connection is over, with or without an error.
		_ = c.Close()
	}
}
