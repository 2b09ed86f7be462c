package web

import (
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
		{guard{}, cloud, "covey never connects there"},
		{guard{local: true}, loop, ""},
		{guard{local: true}, public, "names this machine"},
		{guard{local: true}, private, "names this machine"},
		{guard{local: true, listed: true}, cloud, "names this machine"},
		{guard{listed: true}, loop, ""},
		{guard{listed: true}, private, ""},
		{guard{listed: true}, cloud, "covey never connects there"},
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
