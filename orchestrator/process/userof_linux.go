package process

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// UserOf returns the user whose process made a TCP connection within this machine; -1: the system
// does not tell. It takes microseconds however many connections there are, if the kernel can be
// asked for one, and else some milliseconds for a thousand of them.
func UserOf(here, there netip.AddrPort) int {
	uid, err := askUser(here, there)
	if err == nil {
		return uid
	}
	if made, err := socketAt(here, there); err == nil {
		return made.uid
	}
	return -1
}

// Parts of a request and its answer (linux/inet_diag.h), in bytes.
const (
	diagRequest  = unix.SizeofNlMsghdr + 8 + diagSocket
	diagSocket   = 48                                         // the addresses of a socket
	diagUser     = unix.SizeofNlMsghdr + 4 + diagSocket + 3*4 // before the user in an answer
	diagByFamily = 20                                         // SOCK_DIAG_BY_FAMILY
)

// askUser asks the kernel whose socket the end there of a connection is.
func askUser(here, there netip.AddrPort) (uid int, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	family := byte(unix.AF_INET)
	if there.Addr().Is6() {
		family = unix.AF_INET6
	}
	m := binary.NativeEndian.AppendUint32(nil, diagRequest)
	m = binary.NativeEndian.AppendUint16(m, diagByFamily)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST)
	m = append(m, make([]byte, 8)...) // the kernel fills in number and sender
	m = append(m, family, unix.IPPROTO_TCP, 0, 0)
	m = binary.NativeEndian.AppendUint32(m, ^uint32(0)) // in any state
	m = binary.BigEndian.AppendUint16(m, there.Port())
	m = binary.BigEndian.AppendUint16(m, here.Port())
	for _, a := range []netip.AddrPort{there, here} {
		var wide [16]byte
		copy(wide[:], a.Addr().AsSlice())
		m = append(m, wide[:]...)
	}
	m = binary.NativeEndian.AppendUint32(m, 0)          // of any interface
	m = binary.NativeEndian.AppendUint64(m, ^uint64(0)) // without a cookie
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	switch {
	case err != nil:
		return 0, err
	case n < diagUser+4, binary.NativeEndian.Uint16(answer[4:]) != diagByFamily, answer[unix.SizeofNlMsghdr+1] == unix.BPF_TCP_LISTEN:
		return 0, errors.New("the kernel does not know the connection, or this request")
	}
	return int(binary.NativeEndian.Uint32(answer[diagUser:])), nil
}
