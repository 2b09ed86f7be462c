package web

import (
	"net"
	"os"
	"sync"

	"github.com/coveyteam/covey/orchestrator/process"
)

// Bounds of the connections to a page, by the user whose process has made them. All take files of
// this process, which a team needs for other things. What is over is closed at once.
const (
	maxOwn    = maxStreams + 56 // of the user of this process
	maxOther  = 32              // of each other user, such as that of a proxy, and of unknown ones
	maxOthers = 96              // of these together
)

// places is a listener that bounds its connections.
type places struct {
	net.Listener

	mu    sync.Mutex
	taken map[int]int // connections by user
	all   int         // connections of other users
}

// newPlaces bounds the connections of a listener.
func newPlaces(l net.Listener) *places { return &places{Listener: l, taken: map[int]int{}} }

// Accept returns the next connection that there is a place for.
func (p *places) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		here, there, err := endsOf(c)
		user := -1
		if err == nil {
			user = process.UserOf(here, there)
		}
		if p.take(user) {
			return &placed{Conn: c, free: sync.OnceFunc(func() { p.free(user) })}, nil
		}
		_ = c.Close() // nothing was sent
	}
}

// take takes a place for a user, if there is one.
func (p *places) take(user int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := user == os.Geteuid()
	if own && p.taken[user] >= maxOwn || !own && (p.taken[user] >= maxOther || p.all >= maxOthers) {
		return false
	}
	p.taken[user]++
	if !own {
		p.all++
	}
	return true
}

// free gives a place back.
func (p *places) free(user int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[user]--; p.taken[user] == 0 {
		delete(p.taken, user)
	}
	if user != os.Geteuid() {
		p.all--
	}
}

// placed is a connection that has a place.
type placed struct {
	net.Conn
	free func()
}

// Close closes the connection, and gives its place back.
func (c *placed) Close() error {
	defer c.free()
	return c.Conn.Close()
}
