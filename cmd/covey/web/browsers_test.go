package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A browser that an earlier server of the team has let in is let in by the next ones, and gets their
// cookies; one that only knows the file is not.
func TestKnownBrowsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "browsers.json")
	if before, err := knownBrowsers(path, "first"); err != nil || len(before) > 0 {
		t.Fatalf("%q, %v", before, err)
	}
	g := newGuarded(t, false)
	var err error
	if g.guard.before, err = knownBrowsers(path, g.guard.sign("cookie")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "first") || strings.Contains(string(text), g.guard.sign("cookie")) {
		t.Errorf("the file is %s, %v", text, err)
	}
	for cookie, want := range map[string]int{"first": 200, hashOf("first"): 401, g.guard.before[0]: 401, "": 401} {
		got := g.ask("GET", "/", func(r *http.Request) {
			r.Header.Set("Cookie", g.guard.cookie+"="+cookie)
		}, nil)
		if got.StatusCode != want || strings.Contains(got.Header.Get("Set-Cookie"), g.guard.sign("cookie")) != (want == 200) {
			t.Errorf("the cookie %q: %d, %q", cookie, got.StatusCode, got.Header.Get("Set-Cookie"))
		}
	}
}

// A damaged file is begun anew, a long one keeps the newest, and one that cannot be written is told.
func TestFileOfBrowsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "browsers.json")
	if err := os.WriteFile(path, []byte(`["x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range keptBrowsers + 3 {
		if before, err := knownBrowsers(path, strings.Repeat("c", i)); err != nil || len(before) != min(i, keptBrowsers) {
			t.Errorf("after %d: %q, %v", i, before, err)
		}
	}
	if _, err := knownBrowsers(filepath.Join(path, "x"), "c"); err == nil {
		t.Error("a folder that is not there: no error")
	}
}
