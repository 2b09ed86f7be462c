package runner

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/web"
)

// TestNameThatLeadsInwards: a public name is not enough, what it resolves to
// counts, and for each call anew.
func TestNameThatLeadsInwards(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, `{"decision":"block","reason":"reached"}`))
	dns := &names{hosts: map[string][]string{
		"inwards.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"}, "cloud.test": {"169.254.169.254"},
		"rebound.test": {"93.184.216.34", "127.0.0.1"}, "gone.test": nil,
	}}
	try := func(host string, listed ...string) hooks.Result {
		t.Helper()
		source := settings.Source{Name: "s.json", Settings: httpOn(hooks.Stop, s.at(host))}
		source.Restrictions.AllowedHTTPHookURLs = listed
		source.Settings[hooks.Stop][0].Hooks[0].Timeout = 5
		r := posting(t, nil, source)
		r.world.Resolver = dns.resolver()
		return post(t, r, hooks.StopInput{}).Results[0]
	}
	for host, want := range map[string]string{
		"inwards.test": "leads to 127.0.0.1, this machine", "cloud.test": "leads to 169.254.169.254",
		"gone.test": "getaddrinfo ENOTFOUND gone.test",
	} {
		got := try(host)
		if got.Outcome != hooks.NonBlockingError || !got.FailedOpen || !strings.Contains(got.Stderr, want) || got.ExitCode != -1 {
			t.Errorf("%s: %+v, want %q", host, got, want)
		}
	}
	if s.calls() != 0 {
		t.Fatal("a guarded hook reached its server")
	}
	if got := try("inwards.test", "http://*/hook"); !strings.Contains(got.Stderr, "this machine") || s.calls() != 0 {
		t.Errorf("a pattern that fits any host lists none: %+v", got)
	}
	if got := try("inwards.test", "http://inwards.test:*"); got.Outcome != hooks.Blocking || s.calls() != 1 {
		t.Errorf("a host that is listed: %+v", got)
	}
	if got := try("cloud.test", "http://cloud.test:*"); !strings.Contains(got.Stderr, "never") {
		t.Errorf("no list leads to a cloud's secrets: %+v", got)
	}
	if dns.asked == 0 {
		t.Error("the resolver was not asked")
	}
}

// TestRebinding: a name that is public when it is checked and inside when it is
// called does not exist here, as the address is checked that is dialled.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, `{"decision":"block","reason":"reached"}`))
	// Nothing answers at the first address, which is refused as one for documents;
	// the second look-up, of the second event, leads inwards.
	dns := &names{hosts: map[string][]string{"rebound.test": {"203.0.113.7", "127.0.0.1"}}}
	r := posting(t, nil, settings.Source{Name: "s.json", Settings: httpOn(hooks.Stop, s.at("rebound.test"))})
	r.world.Resolver = dns.resolver()
	for _, want := range []string{"203.0.113.7", "127.0.0.1"} {
		if got := post(t, r, hooks.StopInput{}).Results[0]; !strings.Contains(got.Stderr, want) || got.Outcome != hooks.NonBlockingError {
			t.Errorf("%+v, want a refusal of %s", got, want)
		}
	}
	if s.calls() != 0 {
		t.Error("the name led inwards")
	}
}

// TestFetchIsGuarded: the address that is dialled decides for pages as well, whatever a name
// led to before, and a rule that names the host does not lead to a cloud's secrets.
func TestFetchIsGuarded(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, "reached"))
	dns := &names{hosts: map[string][]string{"rebound.test": {"203.0.113.7", "127.0.0.1"}, "inwards.test": {"127.0.0.1"},
		"private.test": {"10.0.0.1"}, "cloud.test": {"169.254.169.254"}, "away.localhost": {"10.0.0.1"}}}
	for _, c := range []struct {
		host  string
		named bool
		want  string // part of why not; empty: it is reached
	}{
		{"rebound.test", false, "leads to 203.0.113.7"},
		{"rebound.test", false, "leads to 127.0.0.1, this machine: if that is meant, name its host in a rule"},
		{"private.test", false, "leads to 10.0.0.1, a private address"},
		{"cloud.test", true, "never"},
		{"away.localhost", true, "names this machine, but leads to 10.0.0.1"},
		{"inwards.test", true, ""},
	} {
		to, err := web.ParseTarget(s.at(c.host))
		if err != nil {
			t.Fatal(err)
		}
		page, err := web.Fetch(t.Context(), web.World{Resolver: dns.resolver()}, to, c.named)
		if c.want == "" && (err != nil || string(page.Body) != "reached") ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %q, %v", c, page.Body, err)
		}
		// What would be refused is known before, unless the name leads elsewhere by then.
		before := web.Fetchable(t.Context(), web.World{Resolver: dns.resolver()}, to, c.named)
		if c.host != "rebound.test" && fmt.Sprint(before) != fmt.Sprint(err) {
			t.Errorf("%+v: before, %v", c, before)
		}
	}
	if s.calls() != 1 {
		t.Errorf("%d requests", s.calls())
	}
}

// TestRedirects: whatever a server answers, the hook calls no other one.
func TestRedirects(t *testing.T) {
	t.Parallel()
	inside := newSite(t, serves(200, `{"decision":"block","reason":"followed"}`))
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.at("127.0.0.1"), status) })
		got := post(t, posting(t, nil, settings.Source{Settings: httpOn(hooks.Stop, s.at("127.0.0.1"))}), hooks.StopInput{}).Results[0]
		if got.Outcome != hooks.NonBlockingError || got.ExitCode != status || !strings.Contains(got.Stderr,
			fmt.Sprintf("HTTP %d from %s: redirects are not followed", status, s.at("127.0.0.1"))) {
			t.Errorf("%d: %+v", status, got)
		}
	}
	if inside.calls() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestLocalURLs: URLs that name this machine work without a list.
func TestLocalURLs(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, `{"decision":"block","reason":"reached"}`))
	dns := &names{hosts: map[string][]string{"hooks.localhost": {"127.0.0.1"}, "away.localhost": {"10.0.0.1"}}}
	for host, reached := range map[string]bool{"127.0.0.1": true, "localhost": true, "LOCALHOST.": true,
		"hooks.localhost": true, "away.localhost": false, "0.0.0.0": false, "[::ffff:127.0.0.1]": true} {
		r := posting(t, nil, settings.Source{Settings: httpOn(hooks.Stop, s.at(host))})
		if strings.Contains(host, ".localhost") {
			r.world.Resolver = dns.resolver()
		}
		if got := post(t, r, hooks.StopInput{}).Results[0]; (got.Outcome == hooks.Blocking) != reached {
			t.Errorf("%s: %+v", host, got)
		}
	}
}
