package process

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"
)

// maxOpenFiles bounds how many open files of a member's processes are read to find a
// connection, and so what a member with very many of them costs the team.
const maxOpenFiles = 1 << 17

// The reasons why a connection does not speak for a member.
var (
	errNoSocket  = errors.New("the connection has ended")
	errElsewhere = errors.New("the connection was made by another process")
	ErrHidden    = errors.New("a process of the member does not show its open files; `covey mcp` on stdin and stdout needs no token")
	errTooMuch   = errors.New("there are too many open files to look through")
)

// SpeaksFor returns nil if a process of the member, or this one, made a TCP connection
// within this machine. It looks twice, because a new process of the member may not be
// registered yet.
func (p *Processes) SpeaksFor(ctx context.Context, c net.Conn, member string) error {
	here, err1 := netip.ParseAddrPort(c.LocalAddr().String())
	there, err2 := netip.ParseAddrPort(c.RemoteAddr().String())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	made, err := socketAt(here, there)
	if err != nil {
		return err
	}
	patience := time.NewTimer(registerTimeout)
	defer patience.Stop()
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if err = p.holds(member, made); err == nil {
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

// holds looks for a socket among the open files of a member's processes and of this
// one. The member's program usually has it, so the processes below that come first, and
// orphans last.
func (p *Processes) holds(member string, made socket) error {
	look := newSearch(made)
	for _, pid := range p.startedFor(member) {
		if look.In(pid) {
			return nil
		}
		below, err := descendants(pid)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(below, func(at Process) bool { return look.In(at.PID) }) {
			return nil
		}
	}
	if look.In(p.self) {
		return nil
	}
	// A hook has fewer rights than its member; a token must not give it more.
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

// startedFor returns the processes that were started for a member and not waited for
// yet.
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
		// The pid may be reused if the first process ended unnoticed.
		if info, err := Read(pid); err == nil && info.Birth == birth {
			list = append(list, pid)
		}
	}
	return list
}

// fileSearch looks for an open file in one process after another.
type fileSearch struct {
	link   string // target of the file's link in /proc
	seen   map[int]bool
	left   int  // how many files may still be read
	hidden bool // some process does not show its files
}

// newSearch returns a search for a socket.
func newSearch(s socket) *fileSearch {
	return &fileSearch{link: "socket:[" + s.inode + "]", seen: map[int]bool{}, left: maxOpenFiles}
}

// In reports whether a process has the file open. It returns false for a process that
// was searched before.
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
	for _, name := range slices.Backward(names) { // a new connection is usually among the last
		link, err := os.Readlink(folder + "/" + name)
		s.hidden = s.hidden || errors.Is(err, fs.ErrPermission)
		if err == nil && link == s.link {
			return true
		}
	}
	return false
}
