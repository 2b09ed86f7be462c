package process

import (
	"net/netip"
	"testing"
)

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
