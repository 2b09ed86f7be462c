package process

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socket is an end of a TCP connection, as the kernel lists it.
type socket struct {
	inode string
	uid   int // of the user whose process created it
}

// listTries bounds how often the kernel's list is read: while other connections come and go,
// one reading of it may lack a connection.
const listTries = 3

// UserOf returns the user whose process made a TCP connection within this machine; -1: the system
// does not tell.
func UserOf(here, there netip.AddrPort) int {
	if made, err := socketAt(here, there); err == nil {
		return made.uid
	}
	return -1
}

// socketAt returns the socket at the end there of a TCP connection within this machine whose
// other end is here. The kernel finds it at once, but not every kernel can be asked; to read its lists
// takes milliseconds where there are many connections. IPv6 sockets that are connected to IPv4 addresses
// are in the second list.
func socketAt(here, there netip.AddrPort) (socket, error) {
	if s, err := askSocket(here, there); err == nil {
		return s, nil
	}
	for range listTries {
		for _, list := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			s, err := socketIn(list, there, here)
			if err == nil {
				return s, nil
			}
			if !errors.Is(err, errNoSocket) && !errors.Is(err, fs.ErrNotExist) { // the machine has no IPv6
				return socket{}, err
			}
		}
	}
	return socket{}, errNoSocket
}

// Fields of a line of /proc/net/tcp after the two addresses, counted from 0.
const (
	tcpUser  = 4
	tcpInode = 6
)

// socketIn finds a socket in a list of the kernel. It fails with errNoSocket if it is not there.
func socketIn(list string, local, remote netip.AddrPort) (socket, error) {
	f, err := os.Open(list)
	if err != nil {
		return socket{}, err
	}
	defer f.Close()
	wide := strings.HasSuffix(list, "6")
	ends := []byte(" " + inHex(local, wide) + " " + inHex(remote, wide) + " ")
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		_, rest, found := bytes.Cut(lines.Bytes(), ends)
		fields := strings.Fields(string(rest))
		if !found || len(fields) <= tcpInode || fields[tcpInode] == "0" {
			continue
		}
		uid, err := strconv.Atoi(fields[tcpUser])
		return socket{inode: fields[tcpInode], uid: uid}, err
	}
	return socket{}, cmp.Or(lines.Err(), errNoSocket)
}

// inHex formats an address as the kernel does: words of four bytes in the machine's
// byte order, and the port.
func inHex(a netip.AddrPort, wide bool) string {
	bytes := a.Addr().AsSlice()
	if wide {
		all := a.Addr().As16()
		bytes = all[:]
	}
	var b strings.Builder
	for word := range slices.Chunk(bytes, 4) {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(word))
	}
	fmt.Fprintf(&b, ":%04X", a.Port())
	return b.String()
}

// Parts of a request and its answer (linux/inet_diag.h), in bytes.
const (
	diagRequest  = unix.SizeofNlMsghdr + 8 + diagSocket
	diagSocket   = 48                                         // the addresses of a socket
	diagUser     = unix.SizeofNlMsghdr + 4 + diagSocket + 3*4 // before the user in an answer
	diagInode    = diagUser + 4
	diagByFamily = 20 // SOCK_DIAG_BY_FAMILY
)

// askSocket asks the kernel for the socket at the end there of a connection.
func askSocket(here, there netip.AddrPort) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socket{}, err
	}
	defer unix.Close(fd)
	family := byte(unix.AF_INET)
	if there.Addr().Unmap().Is6() {
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
		copy(wide[:], a.Addr().Unmap().AsSlice())
		m = append(m, wide[:]...)
	}
	m = binary.NativeEndian.AppendUint32(m, 0)          // of any interface
	m = binary.NativeEndian.AppendUint64(m, ^uint64(0)) // without a cookie
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	switch {
	case err != nil:
		return socket{}, err
	case n < diagInode+4, binary.NativeEndian.Uint16(answer[4:]) != diagByFamily, answer[unix.SizeofNlMsghdr+1] == unix.BPF_TCP_LISTEN:
		return socket{}, errNoSocket // or the kernel does not know this request
	}
	inode := binary.NativeEndian.Uint32(answer[diagInode:])
	if inode == 0 { // nobody has it open any more
		return socket{}, errNoSocket
	}
	return socket{inode: strconv.FormatUint(uint64(inode), 10), uid: int(binary.NativeEndian.Uint32(answer[diagUser:]))}, nil
}
