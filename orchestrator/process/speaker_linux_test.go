package process

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"testing"
)

// TestSocket: the kernel, asked, and its lists have the same socket, of IPv4, of IPv6 and of IPv6 that is connected to IPv4;
// none that listens, and none once the connection has ended.
func TestSocket(t *testing.T) {
	for _, c := range []struct{ listen, network, host string }{
		{"tcp4", "tcp4", "127.0.0.1"}, {"tcp6", "tcp6", "::1"}, {"tcp", "tcp", "127.0.0.1"},
	} {
		l, err := net.Listen(c.listen, ":0")
		if err != nil {
			t.Logf("%s: %v", c.listen, err) // the machine has no IPv6
			continue
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		made, err := net.Dial(c.network, net.JoinHostPort(c.host, port))
		if err != nil {
			t.Logf("%s: %v", c.network, err)
			continue
		}
		taken, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		here, there := netip.MustParseAddrPort(taken.LocalAddr().String()), netip.MustParseAddrPort(taken.RemoteAddr().String())
		// Both ends, because the end of a listener that takes IPv6 is one of IPv6.
		for _, ends := range [][2]netip.AddrPort{{there, here}, {here, there}} {
			var want socket
			for _, list := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
				if s, err := socketIn(list, ends[0], ends[1]); err == nil {
					want = s
				} else if !errors.Is(err, errNoSocket) && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
			if got, err := askSocket(ends[1], ends[0]); err != nil || got != want || want == (socket{}) {
				t.Errorf("%s: the kernel has %+v, %v; its lists have %+v", c.network, got, err, want)
			}
		}
		if got, err := askSocket(netip.AddrPortFrom(there.Addr(), 1), here); err == nil {
			t.Errorf("%s: what listens is taken for a connection: %+v", c.network, got)
		}
		_, _ = made.Close(), taken.Close()
		if got, err := socketAt(here, there); err == nil {
			t.Errorf("%s: a connection that has ended has %+v", c.network, got)
		}
	}
}

func TestInHex(t *testing.T) {
	a := netip.MustParseAddrPort("127.0.0.1:8080")
	if got := inHex(a, false); got != "0100007F:1F90" && got != "7F000001:1F90" {
		t.Errorf("%v is %s", a, got)
	}
	if got := inHex(a, true); got != "0000000000000000FFFF00000100007F:1F90" &&
		got != "00000000000000000000FFFF7F000001:1F90" {
		t.Errorf("%v as IPv6 is %s", a, got)
	}
}
