package runner

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// site is a server that hooks post to. It keeps what came.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

// newSite starts a server on loopback that answers with do.
func newSite(t *testing.T, do http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		do(w, r)
	}))
	s.Config.ErrorLog = discardLog()
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// serves answers with a status and a body.
func serves(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// calls counts the requests.
func (s *site) calls() int { return len(s.since(0)) }

// since are the requests but for the first n.
func (s *site) since(n int) []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests[n:])
}

// port is the server's.
func (s *site) port() string { return s.URL[strings.LastIndexByte(s.URL, ':')+1:] }

// at is a URL of the server under another name.
func (s *site) at(host string) string { return "http://" + host + ":" + s.port() + "/hook" }

// httpOn is a settings section of one event with http hooks that match all.
func httpOn(event hooks.Event, urls ...string) hooks.Settings {
	group := hooks.Group{}
	for _, url := range urls {
		group.Hooks = append(group.Hooks, hooks.Handler{Type: "http", URL: url})
	}
	return hooks.Settings{event: {group}}
}

// posting makes a Runner that runs hooks with the environment env.
func posting(t *testing.T, env []string, sources ...settings.Source) *Runner {
	t.Helper()
	if env == nil {
		env = []string{}
	}
	r, err := New(sources, &Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// post fires an event and returns its outcome.
func post(t *testing.T, r *Runner, payload hooks.Payload) hooks.Outcome {
	t.Helper()
	out, err := r.Run(t.Context(), hooks.Input{Payload: payload, Common: hooks.Common{SessionID: "s", Cwd: "/"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// names is a resolver that knows what it is told: each look-up of a name gets
// the next of its addresses, and then the last again.
type names struct {
	mu    sync.Mutex
	hosts map[string][]string
	asked int
}

// resolver is a net.Resolver that asks n.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, StrictErrors: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go n.serve(server)
			return client, nil
		}}
}

// serve answers queries as DNS over TCP has them, which is what the resolver
// speaks to a connection that is no packet connection.
func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(head))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		reply := n.reply(query)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// reply answers one query with one address of its kind, or with none.
func (n *names) reply(query []byte) []byte {
	labels, end := []string{}, 12
	for query[end] != 0 {
		size := int(query[end])
		labels = append(labels, string(query[end+1:end+1+size]))
		end += size + 1
	}
	question := query[12 : end+5]
	kind := binary.BigEndian.Uint16(query[end+1:])
	var data []byte
	if addr := n.next(strings.Join(labels, "."), kind == 28); addr.IsValid() && (kind == 28) == addr.Is6() {
		data = addr.AsSlice()
	}
	out := append([]byte{}, query[:2]...)
	out = append(out, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	out = append(out, question...)
	if data == nil {
		return out
	}
	out[7] = 1
	out = append(out, 0xc0, 12)
	out = binary.BigEndian.AppendUint16(out, kind)
	out = append(out, 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
	return append(out, data...)
}

// next is the address that a look-up gets. The two queries of one look-up (for
// IPv4 and IPv6) get the same.
func (n *names) next(host string, again bool) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.hosts[host]
	if len(list) == 0 {
		return netip.Addr{}
	}
	addr := netip.MustParseAddr(list[0])
	if !again && len(list) > 1 {
		n.hosts[host] = list[1:]
	}
	n.asked++
	return addr
}

// discardLog is where servers complain of handshakes that were meant to fail.
func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
