package web

import (
	"cmp"
	"fmt"
	"net/netip"
	"syscall"
)

// reach describes which requests may connect to an address.
type reach uint8

const (
	everybody reach = iota // addresses of the internet
	byLoop                 // this machine: URLs that name it, and those that are listed
	byList                 // private networks: URLs whose host is listed
	nobody                 // where no request belongs: what clouds tell their machines, and the like
)

// guard checks the resolved address at dial time, so that neither a name that resolves to a
// private address nor one that changes between two look-ups leads a request into a
// network that its URL does not name.
type guard struct {
	local  bool   // the URL names this machine
	listed bool   // a list or a rule names the host, or a managed file has the hook
	list   string // where a host can be listed; empty: in the list for hooks
}

// blockedError is why a guard refused a connection.
type blockedError struct{ text string }

// Error returns the text for people.
func (e *blockedError) Error() string { return e.text }

// control refuses a connection before it is made; it is a net.Dialer's Control.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &blockedError{fmt.Sprintf("%.60s is no address", address)}
	}
	return g.check(at.Addr())
}

// check returns why the request may not connect to addr, or nil.
func (g guard) check(addr netip.Addr) error {
	to, what := reachOf(addr)
	switch {
	case g.local && to != byLoop:
		return &blockedError{fmt.Sprintf("the URL names this machine, but leads to %s", addr)}
	case to == everybody, to == byLoop && (g.local || g.listed), to == byList && g.listed:
		return nil
	case to == nobody:
		return &blockedError{fmt.Sprintf("the URL leads to %s, %s: covey never connects there", addr, what)}
	}
	return &blockedError{fmt.Sprintf("the URL leads to %s, %s: if that is meant, name its host in %s", addr, what,
		cmp.Or(g.list, "allowedHttpHookUrls of a settings file"))}
}

// network is a range of addresses outside the public internet.
type network struct {
	prefix string
	to     reach
	what   string
}

// networks returns the ranges, special ones before those that contain them. The names are
// those of the registries of special-purpose addresses.
func networks() []network {
	const cloud = "where a cloud tells its machines their secrets"
	return []network{
		{"169.254.0.0/16", nobody, "a link-local address, " + cloud},
		{"100.100.100.200/32", nobody, cloud},
		{"168.63.129.16/32", nobody, cloud},
		{"192.0.0.0/24", nobody, "a reserved address"},
		{"fd00:ec2::/32", nobody, cloud},
		{"fd20:ce::/32", nobody, cloud},
		{"fe80::/10", nobody, "a link-local address"},
		{"0.0.0.0/8", nobody, "an unspecified address"},
		{"::/128", nobody, "an unspecified address"},
		{"224.0.0.0/4", nobody, "a multicast address"},
		{"ff00::/8", nobody, "a multicast address"},
		{"240.0.0.0/4", nobody, "a reserved address"},
		{"192.0.2.0/24", nobody, "an address for documents"},
		{"198.51.100.0/24", nobody, "an address for documents"},
		{"203.0.113.0/24", nobody, "an address for documents"},
		{"2001:db8::/32", nobody, "an address for documents"},
		{"3fff::/20", nobody, "an address for documents"},
		{"192.88.99.0/24", nobody, "a relay"},
		{"100::/64", nobody, "a discard address"},
		{"2001::/32", nobody, "a tunnel's address"},
		{"64:ff9b:1::/48", byList, "a private translator's address"},
		{"127.0.0.0/8", byLoop, "this machine"},
		{"::1/128", byLoop, "this machine"},
		{"10.0.0.0/8", byList, "a private address"},
		{"172.16.0.0/12", byList, "a private address"},
		{"192.168.0.0/16", byList, "a private address"},
		{"100.64.0.0/10", byList, "a carrier's private address"},
		{"198.18.0.0/15", byList, "an address for benchmarks"},
		{"fc00::/7", byList, "a private address"},
		{"fec0::/10", byList, "a private address"},
	}
}

// reachOf classifies an address. One that embeds an IPv4 address is treated as that.
func reachOf(addr netip.Addr) (to reach, what string) {
	addr = addr.Unmap().WithZone("")
	for _, n := range networks() {
		if netip.MustParsePrefix(n.prefix).Contains(addr) {
			return n.to, n.what
		}
	}
	inner, holds := embedded(addr)
	if !holds {
		return everybody, ""
	}
	// A translating network forwards to the inner address from its own side, so a URL
	// never means one that is not public.
	if to, what = reachOf(inner); to != everybody {
		return nobody, fmt.Sprintf("which holds %s, %s", inner, what)
	}
	return everybody, ""
}

// embedded returns the IPv4 address in an IPv6 one: in NAT64 (RFC 6052), 6to4 (RFC 3056),
// IPv4-compatible and IPv4-translated addresses.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return addr, false
	}
	b := addr.As16()
	ends := [4]byte(b[12:])
	switch {
	case in(addr, "64:ff9b::/96"), in(addr, "::/96"), in(addr, "::ffff:0:0:0/96"):
		return netip.AddrFrom4(ends), true
	case in(addr, "2002::/16"):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return addr, false
}

// in reports whether addr lies in a range.
func in(addr netip.Addr, prefix string) bool { return netip.MustParsePrefix(prefix).Contains(addr) }
