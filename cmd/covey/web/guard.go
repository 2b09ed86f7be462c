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
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/process"
)

// guard decides who may see the page and act on it. Whoever opens it acts as the operator, so
// a member of the team must not be able to.
type guard struct {
	token  string   // in the address that is printed; the first request has it
	key    []byte   // of the cookies and of the forms
	hosts  []string // names and addresses by which the page may be called
	cookie string   // its name
	// root begins the paths of all pages and of the cookies. Browsers send the cookies of a host to
	// all of its ports, where other programs listen, but only with paths that begin so.
	root   string
	before []former // the pages that were at this address before
	ports           // what it asks others
	cross  *http.CrossOriginProtection

	templates *template.Template // of all pages, below the root
}

// ports are what a guard asks others.
type ports struct {
	// outside returns nil if a process outside of the team is found to have made a connection, and
	// process.ErrInside if one of the team has.
	outside func(here, there netip.AddrPort) error
	public  func(context.Context) *url.URL              // the spec's public_url; its Host is empty if there is none
	redeem  func(ctx context.Context, code string) bool // uses up a code of `covey web --code`
}

// newGuard makes the guard of a page that listens at an address.
func newGuard(at net.Addr, names []string, asks ports) *guard {
	_, port, _ := net.SplitHostPort(at.String()) // a listener's address has a port
	g := &guard{token: secret(), key: []byte(secret()), ports: asks, cross: http.NewCrossOriginProtection(), cookie: "covey_" + port}
	g.root = "/p-" + g.sign("root")[:24]
	g.templates = newTemplates(g.root)
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

// The cookies of the page, by what has to be known of who sends them.
const (
	ownCookie  = "own"  // the connection is found to be of the operator's own process
	codeCookie = "code" // nothing: the browser has brought a code of `covey web --code`
)

// codePath is where a browser brings a code.
const codePath = "/code"

// wrap returns a handler that lets only the operator through to next.
func (g *guard) wrap(next http.Handler) http.Handler {
	rooted := http.StripPrefix(g.root, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		ctrl := http.NewResponseController(w)
		_ = ctrl.SetWriteDeadline(time.Now().Add(writeTime)) // without one it only waits longer
		if err := g.admit(w, r); err != nil {
			// Otherwise the server reads the body of a request that is refused.
			h.Set("Connection", "close")
			_ = ctrl.SetReadDeadline(time.Now())
			g.refuse(w, r, err)
			return
		}
		switch {
		case r.URL.Path == codePath || r.URL.Query().Has("token"):
			g.redirect(w, r)
		case strings.HasPrefix(r.URL.Path, g.root+"/"):
			rooted.ServeHTTP(w, r)
		case g.isFormer(r):
			_, rest, _ := cutRoot(r.URL.RequestURI())
			http.Redirect(w, r, g.root+rest, http.StatusSeeOther)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// admit lets the operator in: by the token of the address, a code or a cookie. It reads the body of a
// request only once it knows who sends it. It returns why it does not let somebody in.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) error {
	unknown, err := g.check(r)
	if err != nil {
		return err
	}
	switch {
	case g.hasCookie(r, codeCookie), unknown == nil && g.hasCookie(r, ownCookie), isOpen(r) && (unknown == nil || g.isPublic(r)):
		return readForm(w, r)
	case unknown == nil && r.Method == http.MethodGet && g.isFormer(r):
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			return refuse(http.StatusGone, "covey was started again; load the page anew")
		}
		g.setCookie(w, r, ownCookie)
		return nil
	case r.Method == http.MethodPost && r.URL.Path == codePath:
		if err := readForm(w, r); err != nil {
			return err
		}
		if !g.redeem(r.Context(), plainCode(r.PostForm.Get("code"))) {
			return &refusal{http.StatusUnauthorized, "this code is not good, or not any more; `covey web --code` prints another one", true}
		}
		g.setCookie(w, r, codeCookie)
		return nil
	case unknown != nil && strings.HasPrefix(r.URL.Path, "/static/"):
		return nil // for the page that says how to get in; it is no secret
	case unknown != nil:
		return &refusal{http.StatusForbidden, "covey cannot tell that it is you who opens this page: " + unknown.Error() +
			"; `covey web --code` prints a code that lets this browser in", true}
	case r.Method != http.MethodGet || !same(r.URL.Query().Get("token"), g.token):
		return refuse(http.StatusUnauthorized,
			"open the address with the token that covey has printed; while the team runs, `covey web --url` prints it again")
	}
	g.setCookie(w, r, ownCookie)
	return nil
}

// plainCode returns a code as it was made, from how a person may write it.
func plainCode(typed string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
}

// readForm reads the body of a request, if it is a form.
func readForm(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	ctrl := http.NewResponseController(w)
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err := ctrl.SetReadDeadline(time.Now().Add(headerTime))
	if err == nil {
		err = r.ParseForm()
	}
	// The server notices by reading that a browser is gone, and this may take longer.
	if err = errors.Join(err, ctrl.SetReadDeadline(time.Time{})); err != nil {
		return refuse(http.StatusBadRequest, "the form cannot be read: %v", err)
	}
	return nil
}

// redirect leads to the page that was asked for, below the root and without the token.
func (g *guard) redirect(w http.ResponseWriter, r *http.Request) {
	clean := *r.URL
	if clean.Path == codePath {
		clean.Path = "/"
	}
	q := clean.Query()
	q.Del("token")
	clean.RawQuery = q.Encode()
	http.Redirect(w, r, g.root+strings.TrimPrefix(clean.RequestURI(), g.root), http.StatusSeeOther)
}

// setCookie gives a browser a cookie of this page.
func (g *guard) setCookie(w http.ResponseWriter, r *http.Request, kind string) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.sign(kind), Path: g.root, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: g.isPublic(r) && g.public(r.Context()).Scheme == "https",
	})
}

// hasCookie reports whether a request has a cookie of this page. Pages of other ports can add cookies
// of the same name.
func (g *guard) hasCookie(r *http.Request, kind string) bool {
	return slices.ContainsFunc(r.CookiesNamed(g.cookie), func(c *http.Cookie) bool { return same(c.Value, g.sign(kind)) })
}

// check refuses requests by another name, of another origin, of proxies that the spec does not know
// of, and of members. unknown says why it is not known that the operator has connected; nil: it is.
func (g *guard) check(r *http.Request) (unknown, err error) {
	public := g.isPublic(r)
	if !public && !g.known(r.Host) {
		return nil, refuse(http.StatusMisdirectedRequest, "this page does not answer to the name %q", r.Host)
	}
	if err := g.cross.Check(r); err != nil {
		return nil, refuse(http.StatusForbidden, "the request comes from another page: %v", err)
	}
	if !public && isForwarded(r) {
		return nil, refuse(http.StatusForbidden, "a proxy has forwarded the request: "+
			"the spec must name the address of the page as web.public_url, and the proxy must pass its host name on")
	}
	switch unknown = g.peer(r); {
	case errors.Is(unknown, process.ErrInside):
		return nil, refuse(http.StatusForbidden, "this page is for the operator: %v", unknown)
	case public:
		unknown = errors.New("a proxy has forwarded the request")
	}
	return unknown, nil
}

// isPublic reports whether a request calls the page by the name of the spec's public_url.
func (g *guard) isPublic(r *http.Request) bool {
	return !g.known(r.Host) && strings.EqualFold(r.Host, g.public(r.Context()).Host)
}

// isForwarded reports whether a proxy says that it has forwarded a request.
func isForwarded(r *http.Request) bool {
	return slices.ContainsFunc([]string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"},
		func(name string) bool { return r.Header.Get(name) != "" })
}

// known reports whether the page may be called by a name. A page of another name that leads to
// this machine (DNS rebinding) is refused.
func (g *guard) known(host string) bool {
	return slices.ContainsFunc(g.hosts, func(name string) bool { return strings.EqualFold(host, name) })
}

// isForm returns an error unless a form is from this page.
func (g *guard) isForm(r *http.Request) error {
	if !same(r.PostForm.Get("token"), g.formToken()) {
		return refuse(http.StatusForbidden, "the form is not from this page; load the page anew")
	}
	return nil
}

// connection is a TCP connection, and why it is not known to be the operator's.
type connection struct {
	here, there netip.AddrPort

	mu    sync.Mutex
	asked bool
	err   error
}

// connectionKey is the key of a connection in a request's context.
type connectionKey struct{}

// connect prepares a connection. It is the ConnContext of the server.
func (g *guard) connect(ctx context.Context, c net.Conn) context.Context {
	here, there, _ := endsOf(c) // the zero address is that of no process
	return context.WithValue(ctx, connectionKey{}, &connection{here: here, there: there})
}

// endsOf returns the addresses of a connection.
func endsOf(c net.Conn) (here, there netip.AddrPort, err error) {
	here, err1 := netip.ParseAddrPort(c.LocalAddr().String())
	there, err2 := netip.ParseAddrPort(c.RemoteAddr().String())
	return here, there, errors.Join(err1, err2)
}

// peer returns nil if the operator has made the connection of a request. It asks once for what is
// only read, and again for each request that acts: another process may have the connection by now.
func (g *guard) peer(r *http.Request) error {
	made, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return errors.New("the connection is not known")
	}
	made.mu.Lock()
	defer made.mu.Unlock()
	if !made.asked || r.Method != http.MethodGet {
		made.asked, made.err = true, g.outside(made.here, made.there)
	}
	return made.err
}

// refuse answers with why somebody is not let in: browsers get a page on which a code can be typed.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(statusOf(err))
	refused := &refusal{}
	_ = errors.As(err, &refused)
	_ = g.templates.ExecuteTemplate(w, "refusal", struct { // the connection may be lost
		Text string
		Code bool
	}{err.Error(), refused.code})
}

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	text   string
	code   bool // a code lets the browser in
}

// Error returns the text for people.
func (r *refusal) Error() string { return r.text }

// refuse makes a refusal.
func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.status
	}
	return http.StatusInternalServerError
}
