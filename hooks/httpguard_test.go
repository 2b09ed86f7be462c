package hooks

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// TestReachOf: what an address is, however it is written into another.
func TestReachOf(t *testing.T) {
	for addr, want := range map[string]reach{
		"93.184.216.34": everybody, "8.8.8.8": everybody, "2606:2800:220:1::1": everybody,
		"64:ff9b::5db8:d822": everybody, "2002:5db8:d822::1": everybody, "172.32.0.1": everybody, "100.128.0.1": everybody,
		"127.0.0.1": byLoop, "127.255.255.254": byLoop, "::1": byLoop, "::ffff:127.0.0.1": byLoop,
		"10.0.0.1": byList, "172.16.0.1": byList, "172.31.255.255": byList, "192.168.1.1": byList,
		"100.64.0.1": byList, "198.18.0.1": byList, "fc00::1": byList, "fd12:3456::1": byList,
		"::ffff:10.0.0.1": byList, "fec0::1": byList, "64:ff9b:1::1": byList,
		"169.254.169.254": nobody, "::ffff:169.254.169.254": nobody, "169.254.0.1": nobody, "fe80::1": nobody,
		"fe80::1%lo": nobody, "fd00:ec2::254": nobody, "fd20:ce::254": nobody, "100.100.100.200": nobody,
		"168.63.129.16": nobody, "192.0.0.192": nobody, "0.0.0.0": nobody, "0.1.2.3": nobody, "::": nobody,
		"224.0.0.1": nobody, "239.1.1.1": nobody, "ff02::1": nobody, "255.255.255.255": nobody, "240.0.0.1": nobody,
		"192.0.2.1": nobody, "198.51.100.1": nobody, "203.0.113.1": nobody, "2001:db8::1": nobody,
		"64:ff9b::7f00:1": nobody, "64:ff9b::a9fe:a9fe": nobody, "64:ff9b::a00:1": nobody,
		"2002:7f00:1::": nobody, "2002:a9fe:a9fe::1": nobody, "2002:c0a8:101::": nobody,
		"::127.0.0.1": nobody, "::10.0.0.1": nobody, "::ffff:0:10.0.0.1": nobody, "2001:0:1::1": nobody, "100::1": nobody,
	} {
		got, what := reachOf(netip.MustParseAddr(addr))
		if got != want || (what == "") != (want == everybody) {
			t.Errorf("%s is %d (%s), want %d", addr, got, what, want)
		}
	}
}

// TestGuard: who may go where. A URL that names this machine leads to it alone,
// and what a list names may be private, but never where no hook belongs.
func TestGuard(t *testing.T) {
	public, loop, private, cloud := "93.184.216.34", "127.0.0.1", "10.0.0.5", "169.254.169.254"
	for _, c := range []struct {
		guard
		address string
		refused string // part of why; empty: it may
	}{
		{guard{}, public, ""},
		{guard{}, loop, "127.0.0.1, this machine: if that is meant, name its host in allowedHttpHookUrls"},
		{guard{}, private, "10.0.0.5, a private address"},
		{guard{}, cloud, "hooks never connect there"},
		{guard{local: true}, loop, ""},
		{guard{local: true}, public, "names this machine"},
		{guard{local: true}, private, "names this machine"},
		{guard{local: true, listed: true}, cloud, "names this machine"},
		{guard{listed: true}, loop, ""},
		{guard{listed: true}, private, ""},
		{guard{listed: true}, cloud, "hooks never connect there"},
		{guard{listed: true}, "64:ff9b::a9fe:a9fe", "which holds 169.254.169.254"},
	} {
		err := c.control("tcp", netip.AddrPortFrom(netip.MustParseAddr(c.address), 80).String(), nil)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%+v: %s: %v, want %q", c.guard, c.address, err, c.refused)
		}
	}
	if err := (guard{listed: true}).control("tcp", "localhost:80", nil); err == nil {
		t.Error("a name is no address")
	}
}

// TestNameThatLeadsInwards: a public name is not enough, what it resolves to
// counts, and for each call anew.
func TestNameThatLeadsInwards(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, `{"decision":"block","reason":"reached"}`))
	dns := &names{hosts: map[string][]string{
		"inwards.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"}, "cloud.test": {"169.254.169.254"},
		"rebound.test": {"93.184.216.34", "127.0.0.1"}, "gone.test": nil,
	}}
	try := func(host string, listed ...string) Result {
		t.Helper()
		source := Source{Name: "s.json", Settings: httpOn(Stop, s.at(host))}
		source.Restrictions.AllowedHTTPHookURLs = listed
		source.Settings[Stop][0].Hooks[0].Timeout = 5
		r := posting(t, nil, source)
		r.world.Resolver = dns.resolver()
		return post(t, r, StopInput{}).Results[0]
	}
	for host, want := range map[string]string{
		"inwards.test": "leads to 127.0.0.1, this machine", "cloud.test": "leads to 169.254.169.254",
		"gone.test": "getaddrinfo ENOTFOUND gone.test",
	} {
		got := try(host)
		if got.Outcome != NonBlockingError || !got.FailedOpen || !strings.Contains(got.Stderr, want) || got.ExitCode != -1 {
			t.Errorf("%s: %+v, want %q", host, got, want)
		}
	}
	if s.calls() != 0 {
		t.Fatal("a guarded hook reached its server")
	}
	if got := try("inwards.test", "http://*/hook"); !strings.Contains(got.Stderr, "this machine") || s.calls() != 0 {
		t.Errorf("a pattern that fits any host lists none: %+v", got)
	}
	if got := try("inwards.test", "http://inwards.test:*"); got.Outcome != Blocking || s.calls() != 1 {
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
	r := posting(t, nil, Source{Name: "s.json", Settings: httpOn(Stop, s.at("rebound.test"))})
	r.world.Resolver = dns.resolver()
	for _, want := range []string{"203.0.113.7", "127.0.0.1"} {
		if got := post(t, r, StopInput{}).Results[0]; !strings.Contains(got.Stderr, want) || got.Outcome != NonBlockingError {
			t.Errorf("%+v, want a refusal of %s", got, want)
		}
	}
	if s.calls() != 0 {
		t.Error("the name led inwards")
	}
}

// TestRedirects: whatever a server answers, the hook calls no other one.
func TestRedirects(t *testing.T) {
	t.Parallel()
	inside := newSite(t, serves(200, `{"decision":"block","reason":"followed"}`))
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.at("127.0.0.1"), status) })
		got := post(t, posting(t, nil, Source{Settings: httpOn(Stop, s.at("127.0.0.1"))}), StopInput{}).Results[0]
		if got.Outcome != NonBlockingError || got.ExitCode != status || !strings.Contains(got.Stderr,
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
		r := posting(t, nil, Source{Settings: httpOn(Stop, s.at(host))})
		if strings.Contains(host, ".localhost") {
			r.world.Resolver = dns.resolver()
		}
		if got := post(t, r, StopInput{}).Results[0]; (got.Outcome == Blocking) != reached {
			t.Errorf("%s: %+v", host, got)
		}
	}
}
