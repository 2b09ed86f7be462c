//go:build unix

package tools

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/web"
	"github.com/coveyteam/covey/teammate/agent"
)

// site is a web server on this machine, and a member that a rule allows to reach it.
func site(t *testing.T, pages map[string]http.HandlerFunc) (b *bench, at string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := pages[r.URL.Path]; page != nil {
			page(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	b = newBench(t, func(e *Env) {
		e.Named = func(c agent.ToolCall) bool { return strings.HasPrefix(string(c.Input), `{"url":"`+s.URL+`/`) }
		e.Web.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no names are resolved here")
		}}
	})
	return b, s.URL
}

func serve(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = fmt.Fprint(w, body)
	}
}

func TestWebFetch(t *testing.T) {
	t.Parallel()
	const page = `<html><head><title>T</title><style>p{}</style><script>alert(1)</script></head><body>
		<h1>Head</h1><p>One <b>two</b> <a href="/x?y=1">link</a></p><pre><code>a &lt; b</code></pre>
		<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>`
	b, at := site(t, map[string]http.HandlerFunc{
		"/html":  serve("text/html; charset=utf-8", page),
		"/json":  serve("application/vnd.api+json", `{"a": 1}`),
		"/plain": serve("text/plain", "caf\xe9"),
		"/image": serve("image/png", "\x89PNG"),
		"/empty": serve("text/html", "<script>app()</script>"),
		"/deep":  serve("text/html", strings.Repeat("<div>", 500_000)+"end"),
		"/long":  serve("text/plain", strings.Repeat("0123456789", 400*1024*2)),
		"/moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) },
		"/away": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/x", http.StatusMovedPermanently)
		},
		"/port": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/x", http.StatusTemporaryRedirect)
		},
		"/cloud": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/x", http.StatusFound)
		},
		"/user": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://me:x@example.com/", http.StatusFound)
		},
		"/loop":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) },
		"/broken": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	})
	for path, want := range map[string]string{
		"/html": "Text of " + at + "/html, which nobody in your team has written:\n\n# Head\n\nOne **two** [link](" + at +
			"/x?y=1)\n\n```\na < b\n```\n\n| k | v |\n|---|---|\n| 1 | 2 |",
		"/json":  "Text of " + at + "/json, which nobody in your team has written:\n\n{\"a\": 1}",
		"/plain": "Text of " + at + "/plain, which nobody in your team has written:\n\ncaf\uFFFD",
		"/moved": "Text of " + at + "/plain, which nobody in your team has written:\n\ncaf\uFFFD",
		"/away": at + "/away redirects to another host, which was not followed: https://example.com/x\n" +
			"Call WebFetch with that URL if it is what you need.",
		"/port": at + "/port redirects to another host, which was not followed: http://127.0.0.1:1/x\n" +
			"WebFetch does not get that URL: it names this machine: if that is meant, name its host in a rule, as in " +
			"permissions: {allow: [WebFetch(domain:127.0.0.1)]}",
		"/cloud": at + "/cloud redirects to another host, which was not followed: http://169.254.169.254/x\n" +
			"WebFetch does not get that URL: the URL leads to 169.254.169.254, a link-local address, where a cloud tells its " +
			"machines their secrets: covey never connects there",
		"/user": at + "/user redirects to another host, which was not followed: https://me:x@example.com/\n" +
			"WebFetch does not get that URL: it holds a name or a password, which would be shown wherever the URL is",
	} {
		b.shows("WebFetch", fields{"url": at + path, "prompt": "what is there?"}, want)
	}
	for path, want := range map[string]string{
		"/image":  "is image/png, which is not text; if you need the file, get it with Bash",
		"/empty":  "has no text; a script in a browser may make it",
		"/none":   "HTTP 404 Not Found",
		"/deep":   "its HTML cannot be read: html: open stack of elements exceeds 512 nodes",
		"/loop":   "it redirects more than 10 times",
		"/broken": "socket hang up",
	} {
		b.refuses("WebFetch", fields{"url": at + path}, "WebFetch: "+at+path+": "+want)
	}
	got := b.ok("WebFetch", fields{"url": at + "/long"})
	if !strings.HasSuffix(got, "\n(characters 0 to 40000 of 5242880; go on with offset 40000)") {
		t.Errorf("the first part of a long page: …%q", got[len(got)-100:])
	}
	got = b.ok("WebFetch", fields{"url": at + "/long", "offset": 5_242_875})
	if !strings.HasSuffix(got, ":\n\n56789\n(the page goes on, but only its first 5242880 bytes are read)") {
		t.Errorf("its last part: %.200q", got)
	}
	b.refuses("WebFetch", fields{"url": at + "/long", "offset": 5_242_880}, "has 5242880 characters only")
}

// All parts of a page are of the same page, even if it changes in between.
func TestPartsOfAPage(t *testing.T) {
	t.Parallel()
	asked := 0
	b, at := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		asked++
		serve("text/plain", strings.Repeat(fmt.Sprint(asked), fetchChars+3))(w, nil)
	}})
	b.ok("WebFetch", fields{"url": at})
	for part, want := range []string{"111", "222"} {
		if got := b.ok("WebFetch", fields{"url": at + "/", "offset": fetchChars}); !strings.HasSuffix(got, ":\n\n"+want) {
			t.Errorf("part of page %d: %q", part, got)
		}
		b.ok("WebFetch", fields{"url": at})
	}
}

// Without a rule that names the host, no address but a public one is reached.
func TestWebFetchIsGuarded(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer s.Close()
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	b := newBench(t, nil)
	for url, want := range map[string]string{
		s.URL: "it names this machine: if that is meant, name its host in a rule, as in " +
			"permissions: {allow: [WebFetch(domain:127.0.0.1)]}",
		"http://localhost" + port:          "it names this machine",
		"http://LOCALHOST." + port:         "it names this machine",
		"http://[::ffff:127.0.0.1]" + port: "it names this machine",
		"http://10.0.0.1":                  "leads to 10.0.0.1, a private address: if that is meant, name its host in a rule",
		"http://169.254.169.254/latest":    "covey never connects there",
		"http://0.0.0.0" + port:            "covey never connects there",
		"https://me:secret@example.com/":   "it holds a name or a password",
		"http://2130706433" + port:         "is a number that may mean an address",
		"file:///etc/passwd":               "begins with neither http:// nor https://",
		"example.com":                      "begins with neither http:// nor https://",
	} {
		b.refuses("WebFetch", fields{"url": url}, want)
	}
	named := newBench(t, func(e *Env) { e.Named = func(agent.ToolCall) bool { return true } })
	named.refuses("WebFetch", fields{"url": "http://169.254.169.254/latest"}, "covey never connects there")
}

func TestWebFetchChecksCertificates(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(serve("text/plain", "safe"))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	b := newBench(t, func(e *Env) {
		e.Web, e.Named = web.World{Roots: roots}, func(agent.ToolCall) bool { return true }
	})
	if got := b.ok("WebFetch", fields{"url": s.URL}); !strings.HasSuffix(got, "safe") {
		t.Errorf("got %q", got)
	}
	strange := newBench(t, func(e *Env) { e.Named = func(agent.ToolCall) bool { return true } })
	strange.refuses("WebFetch", fields{"url": s.URL}, "certificate")
}

func TestWebFetchEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b, at := site(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}})
	if r := b.call(ctx, "WebFetch", fields{"url": at}); !r.IsError || !strings.Contains(r.Content, "context canceled") {
		t.Errorf("got %q", r.Content)
	}
}
