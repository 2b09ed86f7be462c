package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/coveyteam/covey/orchestrator/api"
)

// guard decides who may see the page and act on it. Whoever opens it acts as the operator, so
// a member of the team must not be able to.
type guard struct {
	token  string   // in the address that is printed; the first request has it
	key    []byte   // of the cookie and of the forms
	hosts  []string // names and addresses by which the page may be called
	cookie string   // its name
	may    bool     // the page may act even if the system does not tell who has connected
	asks   func(context.Context, api.Connection) (api.Peer, error)
	public func(context.Context) string // the host of the spec's public_url; empty: none
	cross  *http.CrossOriginProtection
	before []string // hashes of the cookies of earlier servers of this team, see knownBrowsers
}

// newGuard makes the guard of a page that listens at an address.
func newGuard(at net.Addr, names []string, may bool,
	asks func(context.Context, api.Connection) (api.Peer, error)) *guard {
	_, port, _ := net.SplitHostPort(at.String()) // a listener's address has a port
	g := &guard{
		token: secret(), key: []byte(secret()), may: may, asks: asks, cross: http.NewCrossOriginProtection(),
		public: func(context.Context) string { return "" },
		// Browsers send the cookies of a host to all of its ports.
		cookie: "covey_" + port,
	}
	for _, name := range append(names, "localhost", "127.0.0.1", "[::1]") {
		g.hosts = append(g.hosts, name, name+":"+port)
	}
	if host, err := netip.ParseAddrPort(at.String()); err == nil && !host.Addr().IsUnspecified() {
		g.hosts = append(g.hosts, at.String())
	}
	return g
}

// secret returns a text that nobody can guess.
func secret() string { return rand.Text() }

// sign returns a text that only the guard can make, for one purpose.
func (g *guard) sign(purpose string) string {
	mac := hmac.New(sha256.New, g.key)
	mac.Write([]byte(purpose)) // never fails
	return hex.EncodeToString(mac.Sum(nil))
}

// same compares secrets without telling by its time how much of them is equal.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// formToken is in each form of the page: a page of somebody else cannot know it.
func (g *guard) formToken() string { return g.sign("form") }

// policy forbids the page everything but its own files, so that what agents write cannot run or
// reach anything even if it got into the page as HTML.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// wrap returns a handler that lets only the operator through to next.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if err := g.check(r); err != nil {
			fail(w, r, err)
			return
		}
		if isOpen(r) || g.hasCookie(r) {
			next.ServeHTTP(w, r)
			return
		}
		if g.knowsBrowser(r) {
			g.setCookie(w)
			next.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodGet || !same(r.URL.Query().Get("token"), g.token) {
			fail(w, r, refuse(http.StatusUnauthorized, "open the address with the token that covey has printed; while the team runs, `covey web --url` prints it again"))
			return
		}
		g.setCookie(w)
		clean := *r.URL
		q := clean.Query()
		q.Del("token")
		clean.RawQuery = q.Encode()
		http.Redirect(w, r, clean.RequestURI(), http.StatusSeeOther)
	})
}

// setCookie gives a browser the cookie of this page.
func (g *guard) setCookie(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.sign("cookie"), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// hasCookie reports whether a request has the cookie of this page.
func (g *guard) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && same(c.Value, g.sign("cookie"))
}

// check refuses requests by another name, of another origin, and of members.
func (g *guard) check(r *http.Request) error {
	if !g.known(r.Host) && !strings.EqualFold(r.Host, g.public(r.Context())) {
		return refuse(http.StatusMisdirectedRequest, "this page does not answer to the name %q", r.Host)
	}
	if err := g.cross.Check(r); err != nil {
		return refuse(http.StatusForbidden, "the request comes from another page: %v", err)
	}
	peer, err := peerOf(r)
	switch {
	case err != nil:
		return refuse(http.StatusForbidden, "covey cannot tell who has connected: %v", err)
	case peer.Known && !peer.Operator:
		return refuse(http.StatusForbidden, "this page is for the operator: %s", peer.Text)
	}
	return nil
}

// known reports whether the page may be called by a name. A page of another name that leads to
// this machine (DNS rebinding) is refused.
func (g *guard) known(host string) bool {
	for _, name := range g.hosts {
		if strings.EqualFold(host, name) {
			return true
		}
	}
	return false
}

// mayAct returns an error if a request must not change anything.
func (g *guard) mayAct(r *http.Request) error {
	if !same(r.PostFormValue("token"), g.formToken()) {
		return refuse(http.StatusForbidden, "the form is not from this page; load the page anew")
	}
	peer, err := peerOf(r)
	if err == nil && !peer.Known && !g.may {
		return refuse(http.StatusForbidden, "this page is for reading only, because the system does not tell "+
			"whether a member has opened it; `--web-act` allows it to act")
	}
	return err
}

// connection is who has made a TCP connection. It is asked for once, with the first request.
type connection struct {
	once sync.Once
	at   api.Connection
	asks func(context.Context, api.Connection) (api.Peer, error)
	peer api.Peer
	err  error
}

// connectionKey is the key of a connection in a request's context.
type connectionKey struct{}

// admit prepares a connection. It is the ConnContext of the server.
func (g *guard) admit(ctx context.Context, c net.Conn) context.Context {
	here, err1 := netip.ParseAddrPort(c.LocalAddr().String())
	there, err2 := netip.ParseAddrPort(c.RemoteAddr().String())
	made := &connection{at: api.Connection{Here: here, There: there}, asks: g.asks}
	made.err = errors.Join(err1, err2)
	return context.WithValue(ctx, connectionKey{}, made)
}

// peerOf returns who has made the connection of a request.
func peerOf(r *http.Request) (api.Peer, error) {
	made, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return api.Peer{}, errors.New("the connection is unknown")
	}
	made.once.Do(func() {
		if made.err == nil {
			made.peer, made.err = made.asks(context.WithoutCancel(r.Context()), made.at)
		}
	})
	return made.peer, made.err
}

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	text   string
}

// Error returns the text for people.
func (r *refusal) Error() string { return r.text }

// refuse makes a refusal.
func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}
