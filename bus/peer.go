package bus

import (
	"context"
	"sync"

	"github.com/oklog/ulid/v2"
)

// newID makes an id that nobody else makes, in the order of time.
func newID() string { return ulid.Make().String() }

// Caller is who sent a request. All of it was found out by the receiver.
type Caller struct {
	Identity
	Conn ConnID // the same for all requests of one connection
	ID   string // of the request, a ULID

	gone <-chan struct{}
}

// Gone is closed when the caller's connection is.
func (c Caller) Gone() <-chan struct{} { return c.gone }

// peer is a connection as its receiver sees it.
type peer struct {
	identity Identity
	hangUp   func()
	gone     chan struct{}

	mu      sync.Mutex
	next    int
	cancels map[int]context.CancelFunc // of the requests being worked on
	closed  bool
}

func newPeer(id Identity, hangUp func()) *peer {
	return &peer{identity: id, hangUp: hangUp, gone: make(chan struct{}), cancels: map[int]context.CancelFunc{}}
}

// begin notes a request that is being worked on; cancel is called if the
// connection ends first. It says false if the peer is gone or has too many
// requests open; otherwise end must be called when the work is done.
func (p *peer) begin(cancel context.CancelFunc) (end func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.cancels) >= maxOpenRequests {
		return nil, false
	}
	p.next++
	n := p.next
	p.cancels[n] = cancel
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.cancels, n)
	}, true
}

// close hangs up and cancels all that is worked on for this peer.
func (p *peer) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	cancels := p.cancels
	p.cancels = nil
	p.mu.Unlock()
	close(p.gone)
	for _, cancel := range cancels {
		cancel()
	}
	p.hangUp()
}
