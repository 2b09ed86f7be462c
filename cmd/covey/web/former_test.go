package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/process"
)

// The page of another process at the same address lets in the browser that had the page open before, and
// nobody else: not one whose connection is a member's, not one without the cookie, and not at another address.
func TestPageGoesOn(t *testing.T) {
	f := newFramed(t, "ana")
	old := f.page.guard
	address := f.server.Listener.Addr().String()
	f.server.Close()
	page, err := Listen(&cli.Env{}, f.place, Options{Addr: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = page.listener.Close() })
	outside := page.guard.outside
	ask := func(path, cookie, accept string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "http://"+address+path, nil)
		r.Header.Set("Accept", accept)
		r.AddCookie(&http.Cookie{Name: old.cookie, Value: cookie})
		r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, &connection{}))
		w := httptest.NewRecorder()
		page.guard.wrap(page.routes()).ServeHTTP(w, r)
		return w.Result()
	}
	page.guard.outside = func(_, _ netip.AddrPort) error { return nil }
	own := old.sign(ownCookie)
	moved := ask(old.root+"/task/1?x=1", own, "text/html")
	if moved.StatusCode != http.StatusSeeOther || moved.Header.Get("Location") != page.guard.root+"/task/1?x=1" ||
		!strings.Contains(moved.Header.Get("Set-Cookie"), page.guard.sign(ownCookie)) {
		t.Errorf("%d to %s", moved.StatusCode, moved.Header.Get("Location"))
	}
	if got := ask(old.root+"/events", own, "text/event-stream"); got.StatusCode != http.StatusGone || got.Header.Get("Set-Cookie") != "" {
		t.Errorf("a stream: %d", got.StatusCode)
	}
	for name, got := range map[string]*http.Response{
		"another cookie": ask(old.root+"/", old.sign(codeCookie), "text/html"), "another root": ask("/p-0000/", own, "text/html"), "no root": ask("/", own, "text/html"),
	} {
		if got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
	page.guard.outside = func(_, _ netip.AddrPort) error { return process.ErrInside }
	if got := ask(old.root+"/", own, "text/html"); got.StatusCode != http.StatusForbidden {
		t.Errorf("a member: %d", got.StatusCode)
	}
	page.guard.outside = outside
	other, err := Listen(&cli.Env{}, f.place, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.listener.Close() })
	if len(other.guard.before) > 0 {
		t.Error("a page at another address takes over the browsers of this one")
	}
}
