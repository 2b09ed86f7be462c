// Package proxy serves what programs in a box may reach outside of it. It makes no promise of compatibility to
// programs outside covey.
package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coveyteam/covey/hooks/sandbox"
)

// dialPatience is how long a connection to a host may take.
const dialPatience = 30 * time.Second

// proxy lets programs reach hosts of a list.
type proxy struct {
	hosts   []string
	refused func(host string)
	mu      sync.Mutex
	tunnels map[net.Conn]bool
}

// Serve serves CONNECT and plain requests to the hosts of a list (sandbox.Policy) until the listener is closed, and then
// ends all of its connections. refused is called for each request to another host; it may be nil.
func Serve(l net.Listener, hosts []string, refused func(string)) {
	p := &proxy{hosts: hosts, refused: refused, tunnels: map[net.Conn]bool{}}
	s := &http.Server{Handler: p, ReadHeaderTimeout: dialPatience}
	_ = s.Serve(l) // the listener was closed
	_ = s.Close()
	p.close()
}

// close ends all connections.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.tunnels {
		c.Close()
	}
	p.tunnels = nil
}

// entry returns the entry of a list that allows to reach an address.
func entry(hosts []string, host, port string) (string, bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	i := slices.IndexFunc(hosts, func(e string) bool {
		ok, _ := path.Match(strings.ToLower(sandbox.HostOf(e)), host)
		_, only, err := net.SplitHostPort(e)
		return ok && (err == nil && only == port || err != nil && (port == "443" || port == "80"))
	})
	if i < 0 {
		return "", false
	}
	return hosts[i], true
}

// ServeHTTP answers one request.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = strings.Trim(r.Host, "[]"), "80"
	}
	by, ok := entry(p.hosts, host, port)
	if !ok || r.Method != http.MethodConnect && r.URL.Scheme != "http" {
		if p.refused != nil {
			p.refused(net.JoinHostPort(host, port))
		}
		http.Error(w, fmt.Sprintf("covey: sandbox: %s may not be reached (sandbox.network.allow)", r.Host), http.StatusForbidden)
		return
	}
	target := net.JoinHostPort(host, port)
	if r.Method == http.MethodConnect {
		p.tunnel(w, r, target, by)
		return
	}
	(&httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) { out.Out.Host, out.Out.URL.Host = r.Host, target },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if address != target { // the proxy that covey itself uses
					by = address
				}
				return dialer(by).DialContext(ctx, network, address)
			},
		},
	}).ServeHTTP(w, r)
}

// dialer connects to hosts that an entry allows. An entry without a port does not allow addresses of
// this machine, which a name of somebody else's may have.
func dialer(by string) *net.Dialer {
	_, _, err := net.SplitHostPort(by)
	withPort := err == nil
	return &net.Dialer{Timeout: dialPatience, Control: func(_, address string, _ syscall.RawConn) error {
		host, _, _ := net.SplitHostPort(address)
		ip := net.ParseIP(host)
		if !withPort && (ip == nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
			return fmt.Errorf("%s is an address of this machine; name the host with its port", host)
		}
		return nil
	}}
}

// tunnel connects the program with a host until one of them ends.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request, target, by string) {
	far, err := dialThrough(r.Context(), target, by)
	if err != nil {
		http.Error(w, "covey: sandbox: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, sent, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	p.join(near, far, sent)
}

// Forward returns a function for sandbox.Extras.Listeners that connects programs with an address outside of
// the box.
func Forward(address string) func(net.Listener) {
	return func(l net.Listener) {
		p := &proxy{tunnels: map[net.Conn]bool{}}
		var all sync.WaitGroup
		for {
			near, err := l.Accept()
			if err != nil {
				break // it was closed
			}
			all.Go(func() {
				defer near.Close()
				far, err := (&net.Dialer{Timeout: dialPatience}).Dial("tcp", address)
				if err != nil {
					return
				}
				defer far.Close()
				p.join(near, far, near)
			})
		}
		p.close()
		all.Wait()
	}
}

// join passes what two connections of a tunnel send until both have ended, or the proxy has. sent is
// what comes from the near one.
func (p *proxy) join(near, far net.Conn, sent io.Reader) {
	if !p.keep(near, far) {
		return
	}
	defer p.forget(near, far)
	var both sync.WaitGroup
	both.Go(func() { pass(far, sent) })
	both.Go(func() { pass(near, far) })
	both.Wait()
}

// pass copies until the end of from, which it tells to.
func pass(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		to.Close()
	}
}

// keep notes connections that end with the proxy. It returns false if that has ended.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.tunnels != nil {
			p.tunnels[c] = true
		}
	}
	return p.tunnels != nil
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.tunnels, c)
	}
}

// dialThrough connects to a host, by the proxy that covey itself uses if there is one.
func dialThrough(ctx context.Context, target, by string) (net.Conn, error) {
	via, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: target}})
	if err != nil {
		return nil, err
	}
	if via == nil {
		return dialer(by).DialContext(ctx, "tcp", target)
	}
	if via.Scheme != "http" {
		return nil, fmt.Errorf("covey's own proxy is of the kind %s; use one of the kind http", via.Scheme)
	}
	address := via.Host
	if via.Port() == "" {
		address = net.JoinHostPort(via.Hostname(), "80")
	}
	conn, err := dialer(address).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{}}
	if user := via.User; user != nil {
		password, _ := user.Password()
		login := &http.Request{Header: http.Header{}}
		login.SetBasicAuth(user.Username(), password)
		ask.Header.Set("Proxy-Authorization", login.Header.Get("Authorization"))
	}
	answers := bufio.NewReader(conn)
	err = errors.Join(conn.SetDeadline(time.Now().Add(dialPatience)), ask.Write(conn))
	if err == nil {
		var answer *http.Response
		if answer, err = http.ReadResponse(answers, ask); err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("covey's own proxy answers %s", answer.Status)
		}
	}
	if err = errors.Join(err, conn.SetDeadline(time.Time{})); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
