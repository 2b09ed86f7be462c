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

// hello is the line that a connection from outside gets before the NATS protocol begins:
// its credentials, or why it gets none.
type hello struct {
	Format     int     `json:"covey"` // format of this line
	Error      string  `json:"error,omitempty"`
	Challenge  string  `json:"challenge,omitempty"` // to be answered with a proof before the real hello
	Token      string  `json:"token,omitempty"`     // valid once, for this connection
	Conn       ConnID  `json:"conn,omitempty"`
	Team       string  `json:"team,omitempty"`
	Scope      Subject `json:"scope,omitempty"` // what it may publish on, without the verb
	MaxPayload int     `json:"max_payload,omitempty"`
}

const (
	helloFormat = 1
	// helloWait bounds the time to send hello, so that a connection that does not read
	// holds no place for long.
	helloWait = 5 * time.Second
)

// Listen accepts processes of this machine at path, a unix socket of mode 0600 in a
// folder of mode 0700, which it creates if missing. identify determines the caller; its
// error is sent to the caller, and the connection is closed. identify may be called from
// several goroutines.
//
// Each Listen makes a new random key and writes it to KeyPath(path), mode 0600. A caller whose
// Identity has NeedsKey is refused unless it knows the key, so what keeps a process from reading
// the file keeps it from being that caller. Dial reads the file.
//
// A socket that a dead process left is replaced. Listen fails with ErrSocketInUse if
// another process answers at path, and with ErrSocketDir if others can write in its
// folder. Only a Bus made by Embed can listen.
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
	b.listeners[path] = l
	b.work.Go(func() { b.accept(l, identify) })
	return nil
}

// StopListening ends a Listen. Connections that were made there go on; HangUp ends them. It does
// nothing if the bus does not listen at path.
func (b *Bus) StopListening(path string) error {
	b.mu.Lock()
	l := b.listeners[path]
	delete(b.listeners, path)
	b.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.Close()
}

// listener is a socket with its key.
type listener struct {
	net.Listener
	key, keyPath string
}

// Close closes the socket and removes both files.
func (l *listener) Close() error {
	err := os.Remove(l.keyPath)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(l.Listener.Close(), err)
}

// listenUnix opens the socket such that no other user can ever reach it.
func listenUnix(path string) (*listener, error) {
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
	// The key comes first: who can connect can read it.
	key, err := writeKey(path)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	made := &listener{l, key, KeyPath(path)}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

// removeStale removes a socket at path that nothing serves. It fails for any other file.
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
func (b *Bus) accept(l *listener, identify func(net.Conn) (Identity, error)) {
	unknown := make(chan struct{}, maxUnknown)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			b.opts.OnError(fmt.Errorf("control socket: %w", err))
			select { // probably out of file descriptors: do not spin
			case <-time.After(acceptPause):
			case <-b.done:
				return
			}
			continue
		}
		// The caller must be identified before the operator can be preferred, which is
		// quick. Later connections wait in the kernel's queue.
		select {
		case unknown <- struct{}{}:
			b.work.Go(func() { b.receive(c, l.known(identify), func() { <-unknown }) })
		case <-b.done:
			c.Close()
			return
		}
	}
}

// known returns identify, which then refuses who needs the key of l and does not know it.
func (l *listener) known(identify func(net.Conn) (Identity, error)) func(net.Conn) (Identity, error) {
	return func(c net.Conn) (Identity, error) {
		id, err := identify(c)
		if err == nil && id.NeedsKey {
			id.NeedsKey, err = false, challenge(c, l.key)
		}
		return id, err
	}
}

// maxUnknown bounds the connections that are being identified.
const maxUnknown = 64

// receive identifies c and serves it if there is a place for it. It calls known once that
// is decided.
func (b *Bus) receive(c net.Conn, identify func(net.Conn) (Identity, error), known func()) {
	id, err := identify(c)
	if err == nil {
		err = b.callers.reserve(id, b.opts)
	}
	if err != nil {
		defer known()
		refuse(c, err)
		return
	}
	defer b.callers.release(id)
	known()
	b.serve(c, id)
}

// acceptPause is the pause after accept failed.
const acceptPause = 100 * time.Millisecond

// serve gives c the credentials of id and connects it to the server until one side hangs
// up.
//
// The token counts until the connection ends. The connection is registered as a peer before
// the hello is sent: a bus that closes in between ends it, too.
func (b *Bus) serve(c net.Conn, id Identity) {
	conn := ConnID(newID())
	scope, err := b.controlScope(id, conn)
	if err != nil {
		refuse(c, err)
		return
	}
	token := b.grants.mint(b.outsidePermissions(id, scope, conn))
	defer b.grants.revoke(token)
	inner, err := b.srv.InProcessConn()
	if err != nil {
		refuse(c, errors.New("the team is ending"))
		return
	}
	p := newPeer(id, c, inner)
	if !b.addPeer(conn, p) {
		p.close()
		return
	}
	defer b.removePeer(conn, p)
	h := hello{Format: helloFormat, Token: token, Conn: conn, Team: b.opts.Team, Scope: scope, MaxPayload: b.opts.MaxPayload}
	if err := sayHello(c, h); err == nil {
		bridge(c, inner, p)
	}
}

// addPeer registers p; false if the bus is closing.
func (b *Bus) addPeer(conn ConnID, p *peer) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.peers[conn] = p
	return true
}

// removePeer removes a peer before it is closed, so that nobody finds a peer that cannot
// receive anything.
func (b *Bus) removePeer(conn ConnID, p *peer) {
	b.mu.Lock()
	delete(b.peers, conn)
	b.mu.Unlock()
	p.close()
}

// HangUp ends all connections from outside whose identity match accepts, such as those of
// a member that has ended.
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

// bridge copies bytes both ways until either side ends, and then ends both.
func bridge(outer, inner net.Conn, p *peer) {
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		defer p.close()
		// Any error means that the connection is over.
		_, _ = io.Copy(to, from)
	}
	both.Go(func() { carry(inner, outer) })
	both.Go(func() { carry(outer, inner) })
	both.Wait()
}

// refuse sends the caller the reason for closing the connection.
func refuse(c net.Conn, reason error) {
	defer c.Close()
	// An error means that the caller is gone already.
	_ = sayHello(c, hello{Format: helloFormat, Error: reason.Error()})
}

// sayHello writes the line before NATS. It has a deadline, because a caller that reads
// nothing would hold a place forever.
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
