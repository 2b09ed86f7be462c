package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/process"
)

// guarded is a guarded page that answers "in" to whom it lets through.
type guarded struct {
	*testing.T
	guard  *guard
	server *httptest.Server
	peer   error  // of the connections
	asked  int    // how often it was asked for
	public string // the spec's public_url
	code   string // that is good
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{T: t}
	g.server = httptest.NewUnstartedServer(nil)
	g.guard = newGuard(g.server.Listener.Addr(), []string{"covey.example"}, ports{
		outside: func(_, _ netip.AddrPort) error { g.asked++; return g.peer },
		public: func(context.Context) *url.URL {
			u, err := url.Parse(g.public)
			if err != nil {
				t.Error(err)
			}
			return u
		},
		redeem: func(_ context.Context, code string) bool { return code != "" && code == g.code },
	})
	g.server.Config.ConnContext = g.guard.connect
	g.server.Config.Handler = g.guard.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if err := g.guard.isForm(r); err != nil {
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

// cookie returns a cookie of the page for a header.
func (g *guarded) cookieOf(kind string) string { return g.guard.cookie + "=" + g.guard.sign(kind) }

// ask makes a request over a connection of its own and returns the answer.
func (g *guarded) ask(method, path string, change func(*http.Request), form url.Values) *http.Response {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		g.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", g.cookieOf(ownCookie))
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
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		g.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp
}

// noCookie takes the cookies out of a request.
func noCookie(r *http.Request) { r.Header.Del("Cookie") }

// header returns a change that sets a header.
func header(key, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(key, value) }
}

func TestGuardLetsIn(t *testing.T) {
	g := newGuarded(t)
	for name, c := range map[string]struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		"the cookie":           {"/", nil, 200},
		"the cookie at a page": {g.guard.root + "/task/1", nil, 200},
		"one cookie of many":   {"/", header("Cookie", g.guard.cookie+"=x; "+g.cookieOf(ownCookie)+"; "+g.guard.cookie+"=y"), 200},
		"nothing":              {"/", noCookie, 401},
		"nothing at a page":    {g.guard.root + "/", noCookie, 401},
		"the token":            {"/?token=" + g.guard.token, noCookie, 303},
		"another token":        {"/?token=x" + g.guard.token, noCookie, 401},
		"an empty token":       {"/?token=", noCookie, 401},
		"a forged cookie":      {"/", header("Cookie", g.guard.cookie+"=00ff"), 401},
		"a rebinding name":     {"/", func(r *http.Request) { r.Host = "evil.example" }, 421},
		"a name that is told":  {"/", func(r *http.Request) { r.Host = "covey.example" }, 200},
		"localhost":            {"/", func(r *http.Request) { r.Host = "localhost" }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			if got := g.ask("GET", c.path, c.change, nil).StatusCode; got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
	in := g.ask("GET", "/a?token="+g.guard.token+"&b=1", noCookie, nil)
	if to := in.Header.Get("Location"); to != g.guard.root+"/a?b=1" {
		t.Errorf("the redirect goes to %q: the token must not stay in the address", to)
	}
	// Other ports of the host must not get the cookie, which browsers send to all.
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=" + g.guard.root} {
		if got := in.Header.Get("Set-Cookie"); !strings.Contains(got, want) || strings.Contains(got, g.guard.token) || strings.Contains(got, "Secure") {
			t.Errorf("the cookie is %q", got)
		}
	}
	if p := in.Header.Get("Content-Security-Policy"); strings.Contains(p, "unsafe-") || !strings.Contains(p, "default-src 'none'") {
		t.Errorf("the policy is %q", p)
	}
}

func TestGuardOfForms(t *testing.T) {
	g := newGuarded(t)
	right := url.Values{"token": {g.guard.formToken()}}
	for name, c := range map[string]struct {
		change func(*http.Request)
		form   url.Values
		want   int
	}{
		"from the page":     {header("Origin", g.server.URL), right, 200},
		"without a token":   {header("Origin", g.server.URL), nil, 403},
		"with a wrong one":  {header("Origin", g.server.URL), url.Values{"token": {"x"}}, 403},
		"from another page": {header("Origin", "http://evil.example"), right, 403},
		"marked cross-site": {header("Sec-Fetch-Site", "cross-site"), right, 403},
		"of another port":   {header("Sec-Fetch-Site", "same-site"), right, 403},
		"without a cookie":  {noCookie, right, 401},
		"too long":          {nil, url.Values{"token": {strings.Repeat("x", maxBody+1)}}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			if got := g.ask("POST", "/", c.change, c.form).StatusCode; got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// A member that has the address, and even a cookie, is refused. Whoever is not found is refused with
// the reason, until a code has let the browser in.
func TestGuardOfMembers(t *testing.T) {
	g := newGuarded(t)
	form := url.Values{"token": {g.guard.formToken()}, "code": {"GOOD"}}
	g.code = "GOOD"
	g.peer = fmt.Errorf("process 7 %w", process.ErrInside)
	for _, method := range []string{"GET", "POST"} {
		for _, path := range []string{"/?token=" + g.guard.token, "/code", "/static/page.js", "/a/x"} {
			if got := g.ask(method, path, header("Cookie", g.cookieOf(codeCookie)+"; "+g.cookieOf(ownCookie)), form).StatusCode; got != 403 {
				t.Errorf("a member's %s %s: %d", method, path, got)
			}
		}
	}

	g.peer = errors.New("nobody shows it")
	for name, c := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"with the token":             {"GET", "/?token=" + g.guard.token, noCookie, 403},
		"with the cookie":            {"GET", "/", nil, 403},
		"with the cookie, acts":      {"POST", "/", nil, 403},
		"with a link":                {"GET", "/a/x", noCookie, 403},
		"with the cookie of a code":  {"GET", "/", header("Cookie", g.cookieOf(codeCookie)), 200},
		"with that cookie, acts":     {"POST", "/", header("Cookie", g.cookieOf(codeCookie)), 200},
		"what the refusal is styled": {"GET", "/static/style.css", noCookie, 200},
	} {
		got := g.ask(c.method, c.path, c.change, form)
		if text := textOf(got); got.StatusCode != c.want || c.want == 403 &&
			(!strings.Contains(text, "nobody shows it") || !strings.Contains(text, "covey web --code")) {
			t.Errorf("%s: %d %s", name, got.StatusCode, text)
		}
	}
	page := textOf(g.ask("GET", "/", header("Accept", "text/html"), nil))
	if !strings.Contains(page, `<form method="post" action="/code"`) || !strings.Contains(page, "nobody shows it") {
		t.Errorf("a browser gets %s", page)
	}
	for code, want := range map[string]int{"": 401, "bad": 401, " go-od ": 303} {
		got := g.ask("POST", codePath, noCookie, url.Values{"code": {code}})
		if got.StatusCode != want || (want == 303) != strings.Contains(got.Header.Get("Set-Cookie"), g.cookieOf(codeCookie)) {
			t.Errorf("the code %q: %d, %q", code, got.StatusCode, got.Header.Get("Set-Cookie"))
		}
	}
}

// The address is asked for anew with each request that acts: another process may have the connection
// by then.
func TestGuardAsksAgain(t *testing.T) {
	g := newGuarded(t)
	client := g.server.Client() // keeps its connection
	ask := func(method string) int {
		t.Helper()
		form := url.Values{"token": {g.guard.formToken()}}
		r, err := http.NewRequestWithContext(t.Context(), method, g.server.URL, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		if method == "GET" {
			r.Body, r.ContentLength = nil, 0
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", g.cookieOf(ownCookie))
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for range 3 {
		if got := ask("GET"); got != 200 || g.asked != 1 {
			t.Fatalf("read: %d, asked %d times", got, g.asked)
		}
	}
	if got := ask("POST"); got != 200 || g.asked != 2 {
		t.Errorf("acted: %d, asked %d times", got, g.asked)
	}
	g.peer = process.ErrInside
	if got := ask("POST"); got != 403 {
		t.Errorf("acted after a member has got the connection: %d", got)
	}
}

// Without a public_url what a proxy forwards is refused. With one, a proxy is nobody that covey knows:
// neither the token nor the cookie of the operator's own browser counts.
func TestGuardOfProxies(t *testing.T) {
	g := newGuarded(t)
	g.code = "GOOD"
	byName := func(cookie string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host = "team.example.com"
			r.Header.Set("X-Forwarded-For", "203.0.113.7")
			r.Header.Set("Cookie", cookie)
		}
	}
	for _, name := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if got := g.ask("GET", "/", header(name, "x"), nil); got.StatusCode != 403 || !strings.Contains(textOf(got), "web.public_url") {
			t.Errorf("with %s: %d", name, got.StatusCode)
		}
	}
	if got := g.ask("GET", "/", byName(g.cookieOf(codeCookie)), nil).StatusCode; got != 421 {
		t.Errorf("another name: %d", got)
	}
	g.public = "https://team.example.com"
	for name, c := range map[string]struct {
		path, cookie string
		want         int
	}{
		"the token":            {"/?token=" + g.guard.token, "", 403},
		"the cookie":           {"/", g.cookieOf(ownCookie), 403},
		"the cookie of a code": {"/", g.cookieOf(codeCookie), 200},
		"a link":               {"/a/x", "", 200},
	} {
		if got := g.ask("GET", c.path, byName(c.cookie), nil).StatusCode; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	in := g.ask("POST", codePath, byName(""), url.Values{"code": {"good"}})
	if in.StatusCode != 303 || !strings.Contains(in.Header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("a code: %d, %q", in.StatusCode, in.Header.Get("Set-Cookie"))
	}
	if got := g.ask("GET", "/", header("X-Forwarded-For", "x"), nil).StatusCode; got != 403 {
		t.Errorf("forwarded by the page's own name: %d", got)
	}
}

// A request that is refused is answered before its body has come, which may never end.
func TestGuardReadsNoBody(t *testing.T) {
	g := newGuarded(t)
	g.peer = process.ErrInside
	c, err := net.Dial("tcp", g.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 200000\r\n\r\nsay=")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c) // to its end: the server keeps no such connection
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestGuardOfAddresses(t *testing.T) {
	for addr, known := range map[string]string{"127.0.0.1:80": "127.0.0.1:80", "[::1]:8080": "[::1]:8080", "0.0.0.0:90": "localhost:90"} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if g := newGuard(at, nil, ports{}); !g.known(known) || g.known("0.0.0.0:90") {
			t.Errorf("%s: %v", addr, g.hosts)
		}
	}
}
