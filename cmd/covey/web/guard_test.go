package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/api"
)

// guarded is a guarded page that answers "in" to whom it lets through.
type guarded struct {
	*testing.T
	guard  *guard
	server *httptest.Server
	peer   api.Peer // who connects
	err    error
}

func newGuarded(t *testing.T, may bool) *guarded {
	g := &guarded{T: t, peer: api.Peer{Known: true, Operator: true}}
	g.server = httptest.NewUnstartedServer(nil)
	g.guard = newGuard(g.server.Listener.Addr(), []string{"covey.example"}, may,
		func(context.Context, api.Connection) (api.Peer, error) { return g.peer, g.err })
	g.server.Config.ConnContext = g.guard.admit
	g.server.Config.Handler = g.guard.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if err := g.guard.mayAct(r); err != nil {
				fail(w, r, err)
				return
			}
		}
		_, _ = w.Write([]byte("in"))
	}))
	g.server.Start()
	t.Cleanup(g.server.Close)
	return g
}

// ask makes a request over a connection of its own and returns the status.
func (g *guarded) ask(method, path string, change func(*http.Request), form url.Values) *http.Response {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		g.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: g.guard.cookie, Value: g.guard.sign("cookie")})
	if change != nil {
		change(r)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	if err != nil {
		g.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

func TestGuardLetsIn(t *testing.T) {
	g := newGuarded(t, false)
	noCookie := func(r *http.Request) { r.Header.Del("Cookie") }
	for name, c := range map[string]struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		"the cookie":          {"/", nil, 200},
		"nothing":             {"/", noCookie, 401},
		"the token":           {"/?token=" + g.guard.token, noCookie, 303},
		"another token":       {"/?token=x" + g.guard.token, noCookie, 401},
		"an empty token":      {"/?token=", noCookie, 401},
		"a forged cookie":     {"/", func(r *http.Request) { r.Header.Set("Cookie", g.guard.cookie+"=00ff") }, 401},
		"a rebinding name":    {"/", func(r *http.Request) { r.Host = "evil.example" }, 421},
		"a name that is told": {"/", func(r *http.Request) { r.Host = "covey.example" }, 200},
		"localhost":           {"/", func(r *http.Request) { r.Host = "localhost" }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			if got := g.ask("GET", c.path, c.change, nil).StatusCode; got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
	in := g.ask("GET", "/a?token="+g.guard.token+"&b=1", noCookie, nil)
	if to := in.Header.Get("Location"); to != "/a?b=1" {
		t.Errorf("the redirect goes to %q: the token must not stay in the address", to)
	}
	for _, want := range []string{"HttpOnly", "SameSite=Strict"} {
		if got := in.Header.Get("Set-Cookie"); !strings.Contains(got, want) || strings.Contains(got, g.guard.token) {
			t.Errorf("the cookie is %q", got)
		}
	}
	if p := in.Header.Get("Content-Security-Policy"); strings.Contains(p, "unsafe-") || !strings.Contains(p, "default-src 'none'") {
		t.Errorf("the policy is %q", p)
	}
}

func TestGuardOfForms(t *testing.T) {
	g := newGuarded(t, false)
	right := url.Values{"token": {g.guard.formToken()}}
	from := func(origin string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Origin", origin) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		form   url.Values
		want   int
	}{
		"from the page":     {from(g.server.URL), right, 200},
		"without a token":   {from(g.server.URL), nil, 403},
		"with a wrong one":  {from(g.server.URL), url.Values{"token": {"x"}}, 403},
		"from another page": {from("http://evil.example"), right, 403},
		"marked cross-site": {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, right, 403},
		"without a cookie":  {func(r *http.Request) { r.Header.Del("Cookie") }, right, 401},
	} {
		t.Run(name, func(t *testing.T) {
			if got := g.ask("POST", "/", c.change, c.form).StatusCode; got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
	long := url.Values{"token": {strings.Repeat("x", maxBody+1)}}
	if got := g.ask("POST", "/", nil, long).StatusCode; got != 403 {
		t.Errorf("a form of %d bytes: %d", maxBody+1, got)
	}
}

// A member that has the address must not use it: where the system tells who connects, it is
// refused; elsewhere the page is for reading.
func TestGuardOfMembers(t *testing.T) {
	g := newGuarded(t, false)
	form := url.Values{"token": {g.guard.formToken()}}
	g.peer = api.Peer{Known: true, Text: "process 7 was started by member ana"}
	for _, method := range []string{"GET", "POST"} {
		if got := g.ask(method, "/?token="+g.guard.token, nil, form).StatusCode; got != 403 {
			t.Errorf("a member's %s: %d", method, got)
		}
	}
	g.peer, g.err = api.Peer{}, errors.New("no answer")
	if got := g.ask("GET", "/", nil, nil).StatusCode; got != 403 {
		t.Errorf("the team does not answer: %d", got)
	}
	g.err = nil
	if got := g.ask("GET", "/", nil, nil).StatusCode; got != 200 {
		t.Errorf("a reader of whom the system tells nothing: %d", got)
	}
	if got := g.ask("POST", "/", nil, form).StatusCode; got != 403 {
		t.Errorf("an action of somebody of whom the system tells nothing: %d", got)
	}
	allowed := newGuarded(t, true)
	allowed.peer = api.Peer{}
	if got := allowed.ask("POST", "/", nil, url.Values{"token": {allowed.guard.formToken()}}).StatusCode; got != 200 {
		t.Errorf("with --web-act: %d", got)
	}
}

func TestGuardOfAddresses(t *testing.T) {
	for addr, known := range map[string]string{"127.0.0.1:80": "127.0.0.1:80", "[::1]:8080": "[::1]:8080", "0.0.0.0:90": "localhost:90"} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if g := newGuard(at, nil, false, nil); !g.known(known) || g.known("0.0.0.0:90") {
			t.Errorf("%s: %v", addr, g.hosts)
		}
	}
}
