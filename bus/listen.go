package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// hello is the one line that a connection from outside gets before the NATS
// protocol begins: its credentials, or why there are none.
type hello struct {
	Format     int     `json:"covey"` // of this line
	Error      string  `json:"error,omitempty"`
	Token      string  `json:"token,omitempty"` // good once, for this connection
	Conn       ConnID  `json:"conn,omitempty"`
	Scope      Subject `json:"scope,omitempty"` // what it may publish on, verb to be added
	MaxPayload int     `json:"max_payload,omitempty"`
	Remote
}

// Remote is what the process at the other end says of itself. Zero: it is of a time
// before anybody said so.
type Remote struct {
	Version  string `json:"version,omitempty"`  // of its program
	Protocol int    `json:"protocol,omitempty"` // what requests and answers look like
}

const (
	helloFormat = 1
	// helloWait bounds the time until a connection has said hello, so that one
	// who connects and does not read holds nothing for long.
	helloWait = 5 * time.Second
)

// Listen lets processes of this machine in at path, a unix socket of mode 0600
// in a folder of mode 0700, which is made if it is not there. identify says who
// is at the other end; its error is told to the caller, who is then hung up on.
// It may be called from several goroutines.
//
// A socket that a dead process left behind is replaced. Listen fails with
// ErrSocketInUse if somebody answers at path, and with ErrSocketDir if others
// can write in its folder. Only a Bus made by Embed can listen.
func (b *Bus) Listen(path string, identify func(net.Conn) (Identity, error)) error {
	if b.srv == nil {
		return errors.New("bus: only an embedded bus can listen")
	}
	l, err := listenUnix(path)
	if err != nil {
		return fmt.Errorf("control socket %s: %w", path, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errors.Join(ErrClosed, l.Close())
	}
	b.listeners = append(b.listeners, l)
	b.work.Go(func() { b.accept(l, identify) })
	return nil
}

// listenUnix opens the socket so that at no moment another user can reach it.
func listenUnix(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes a socket at path that nobody serves. Anything else that
// lies there is not ours to remove.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return errors.New("there is a file of another kind; remove it")
	}
	if c, err := net.DialTimeout("unix", path, helloWait); err == nil {
		return errors.Join(ErrSocketInUse, c.Close())
	}
	return os.Remove(path)
}

// accept serves l until it is closed.
func (b *Bus) accept(l net.Listener, identify func(net.Conn) (Identity, error)) {
	unknown := make(chan struct{}, maxUnknown)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			b.opts.OnError(fmt.Errorf("control socket: %w", err))
			select { // out of file descriptors, most likely: do not spin
			case <-time.After(acceptPause):
			case <-b.done:
				return
			}
			continue
		}
		// Who it is has to be found out before anybody can be preferred, which does not
		// take long. Whoever comes meanwhile waits in the kernel's queue, in its order.
		select {
		case unknown <- struct{}{}:
			b.work.Go(func() { b.receive(c, identify, func() { <-unknown }) })
		case <-b.done:
			c.Close()
			return
		}
	}
}

// maxUnknown is for how many connections at a time it is being found out whose they are.
const maxUnknown = 64

// receive finds out who c is and serves it if there is a place for it. known is called once
// it is clear what becomes of it.
func (b *Bus) receive(c net.Conn, identify func(net.Conn) (Identity, error), known func()) {
	id, err := identify(c)
	if err == nil {
		err = b.callers.take(id, b.opts)
	}
	if err != nil {
		defer known()
		refuse(c, err)
		return
	}
	defer b.callers.leave(id)
	known()
	b.serve(c, id)
}

// acceptPause is how long accepting rests after it failed.
const acceptPause = 100 * time.Millisecond

// serve gives c, which is id's, its credentials and connects it to the server until one
// side hangs up.
func (b *Bus) serve(c net.Conn, id Identity) {
	conn := ConnID(newID())
	scope, err := controlScope(id, conn)
	if err != nil {
		refuse(c, err)
		return
	}
	token := b.grants.mint(outsider(scope, conn))
	defer b.grants.revoke(token)
	inner, err := b.srv.InProcessConn()
	if err != nil {
		refuse(c, errors.New("the team is ending"))
		return
	}
	p := newPeer(id, c, inner)
	if !b.admit(conn, p) {
		p.close()
		return
	}
	defer b.dismiss(conn, p)
	h := hello{Format: helloFormat, Token: token, Conn: conn, Scope: scope, MaxPayload: b.opts.MaxPayload,
		Remote: Remote{b.opts.Version, b.opts.Protocol}}
	if err := sayHello(c, h); err == nil {
		bridge(c, inner, p)
	}
}

// admit makes p known; false if the bus is closing.
func (b *Bus) admit(conn ConnID, p *peer) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.peers[conn] = p
	return true
}

// dismiss forgets a peer before it is closed: what looks for peers in between
// must not find one that can no longer be told anything.
func (b *Bus) dismiss(conn ConnID, p *peer) {
	b.mu.Lock()
	delete(b.peers, conn)
	b.mu.Unlock()
	p.close()
}

// HangUp ends all connections from outside whose identity match accepts, for
// instance those of a member that has ended.
func (b *Bus) HangUp(match func(Identity) bool) {
	b.mu.Lock()
	var out []*peer
	for _, p := range b.peers {
		if match(p.identity) && p.identity != b.opts.Self {
			out = append(out, p)
		}
	}
	b.mu.Unlock()
	for _, p := range out {
		p.close()
	}
}

// bridge carries bytes both ways until either side ends, then ends both.
func bridge(outer, inner net.Conn, p *peer) {
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		defer p.close()
		// The error does not matter: whatever it is, the connection is over.
		_, _ = io.Copy(to, from)
	}
	both.Go(func() { carry(inner, outer) })
	both.Go(func() { carry(outer, inner) })
	both.Wait()
}

// refuse tells the caller why it is hung up on.
func refuse(c net.Conn, reason error) {
	defer c.Close()
	// A caller that cannot even be told is gone, which is what it is to be.
	_ = sayHello(c, hello{Format: helloFormat, Error: reason.Error()})
}

// sayHello writes the one line that comes before NATS. It has a deadline, or a
// caller that reads nothing would hold a place for ever.
func sayHello(c net.Conn, h hello) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := c.SetWriteDeadline(time.Now().Add(helloWait)); err != nil {
		return err
	}
	if _, err := c.Write(append(line, '\n')); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}
