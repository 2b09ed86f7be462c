package process

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxLookedAt is how many open files of a member's processes are looked at in search
// of a connection. It bounds what a member with very many of them costs the team.
const maxLookedAt = 1 << 17

// The reasons why a connection speaks for no member.
var (
	errNoSocket  = errors.New("the connection has ended")
	errElsewhere = errors.New("the connection was made by another process")
	ErrHidden    = errors.New("a process of the member does not show its open files; `covey mcp` on stdin and stdout needs no token")
	errTooMuch   = errors.New("the member's processes have too many open files")
)

// SpeaksFor finds out whether a process of a member, or this one, has made a TCP
// connection within this machine; nil: it has. A member's process that was started just now may
// not be registered yet, so there is a second look.
func (p *Processes) SpeaksFor(ctx context.Context, c net.Conn, member string) error {
	inode, err := socketOf(c)
	if err != nil {
		return err
	}
	patience := time.NewTimer(registerPatience)
	defer patience.Stop()
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if err = p.holds(member, inode); err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// holds looks for a socket among the open files of a member's processes and of this one.
// Most often the member's program itself has it, so what is below that comes first, and
// what has lost its parents last.
func (p *Processes) holds(member, inode string) error {
	look := &fileSearch{link: "socket:[" + inode + "]", seen: map[int]bool{}, left: maxLookedAt}
	if look.In(p.self) {
		return nil
	}
	for _, pid := range p.startedFor(member) {
		if look.In(pid) {
			return nil
		}
		below, err := descendants(pid)
		if err != nil {
			return err
		}
		for _, at := range below {
			if look.In(at.PID) {
				return nil
			}
		}
	}
	// A hook has fewer rights than its member, which a token must not give it.
	its := func(by Caller) bool { return by.Kind == MemberTool && by.Member == member }
	if slices.ContainsFunc(p.running(its), look.In) {
		return nil
	}
	switch {
	case look.left <= 0:
		return errTooMuch
	case look.hidden:
		return ErrHidden
	}
	return errElsewhere
}

// startedFor lists the processes that were started for a member and not waited for yet.
func (p *Processes) startedFor(member string) []int {
	p.mu.Lock()
	births := map[int]string{}
	for pid, r := range p.live {
		if r.Owner.Kind == MemberTool && r.Owner.Member == member {
			births[pid] = r.Birth
		}
	}
	p.mu.Unlock()
	var list []int
	for pid, birth := range births {
		// The number may be another process's by now if the first has ended unseen.
		if info, err := Read(pid); err == nil && info.Birth == birth {
			list = append(list, pid)
		}
	}
	return list
}

// fileSearch looks for an open file in one process after another.
type fileSearch struct {
	link   string // what /proc says of the file
	seen   map[int]bool
	left   int  // how many files may be looked at yet
	hidden bool // some process does not show its files
}

// In reports whether a process has the file open. A process that was looked at before does not.
func (s *fileSearch) In(pid int) bool {
	if s.seen[pid] || s.left <= 0 {
		return false
	}
	s.seen[pid] = true
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	d, err := os.Open(folder)
	if err != nil {
		s.hidden = s.hidden || errors.Is(err, fs.ErrPermission)
		return false
	}
	defer d.Close()
	names, err := d.Readdirnames(s.left)
	s.left -= len(names)
	s.hidden = s.hidden || errors.Is(err, fs.ErrPermission)
	return slices.ContainsFunc(names, func(name string) bool {
		link, err := os.Readlink(folder + "/" + name)
		s.hidden = s.hidden || errors.Is(err, fs.ErrPermission)
		return err == nil && link == s.link
	})
}

// socketOf is the inode of the socket at the other end of a TCP connection within this
// machine. A program that speaks IPv6 to an IPv4 address is in the second list.
func socketOf(c net.Conn) (string, error) {
	here, err1 := netip.ParseAddrPort(c.LocalAddr().String())
	there, err2 := netip.ParseAddrPort(c.RemoteAddr().String())
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	for _, list := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		inode, err := inodeIn(list, there, here)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // no IPv6 here
			return "", err
		}
		if inode != "" {
			return inode, nil
		}
	}
	return "", errNoSocket
}

// Fields of a line of /proc/net/tcp, counted from 0.
const (
	tcpLocal  = 1
	tcpRemote = 2
	tcpInode  = 9
)

// inodeIn looks a socket up in a list of the kernel's; "": it is not there.
func inodeIn(list string, local, remote netip.AddrPort) (string, error) {
	f, err := os.Open(list)
	if err != nil {
		return "", err
	}
	defer f.Close()
	wide := strings.HasSuffix(list, "6")
	from, to := inHex(local, wide), inHex(remote, wide)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > tcpInode && fields[tcpLocal] == from && fields[tcpRemote] == to && fields[tcpInode] != "0" {
			return fields[tcpInode], nil
		}
	}
	return "", lines.Err()
}

// inHex is an address as the kernel lists it: words of four bytes, each as a number in the
// machine's own order, and the port.
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
