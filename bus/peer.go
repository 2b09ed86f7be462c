package bus

import (
	"context"
	"net"
	"sync"
	"time"

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
	ends     []net.Conn // of the bridge to the caller; none for the process itself
	gone     chan struct{}
	open     sync.WaitGroup // the requests that are being worked on

	mu        sync.Mutex
	next      int
	cancels   map[int]context.CancelFunc // of the open requests
	finishing bool                       // no request begins any more
	closed    bool
}

func newPeer(id Identity, ends ...net.Conn) *peer {
	return &peer{identity: id, ends: ends, gone: make(chan struct{}), cancels: map[int]context.CancelFunc{}}
}

// begin notes a request that is being worked on; cancel is called if the
// connection ends first. It says false if the peer is gone or has too many
// requests open; otherwise end must be called when the work is done.
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

// finish begins no more requests and waits for the open ones. From then on the
// caller has closeWait to read what is left for it.
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

// close hangs up and cancels all that is worked on for this peer.
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
		// What is hung up on needs no more; an error changes nothing about that.
		_ = c.Close()
	}
}
