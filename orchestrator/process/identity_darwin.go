package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// orphansEscape means that orphans of our processes may leave our part of the process
// tree. Here launchd adopts them, so that only their session identifies them; an orphan
// that starts its own session escapes.
const orphansEscape = true

// peer is the process at the other end of a unix socket, when it connected.
type peer struct {
	pid, uid int
}

// solLocal is the level of the options of unix sockets (SOL_LOCAL).
const solLocal = 0

// peerAt returns the process at the other end of a socket.
func peerAt(socket int) (peer, error) {
	cred, err := unix.GetsockoptXucred(socket, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, fmt.Errorf("ask who is at a socket's other end: %w", err)
	}
	pid, err := unix.GetsockoptInt(socket, solLocal, unix.LOCAL_PEERPID)
	return peer{pid: pid, uid: int(cred.Uid)}, err
}

// alive reports whether a process with this pid exists.
func (p peer) alive() bool { return unix.Kill(p.pid, 0) == nil }

func (p peer) close() {}

// zombieStat is the state SZOMB of a kinfo_proc.
const zombieStat = 5

// Read is the reader of this system.
func Read(pid int) (Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, errNoProcess // the result for an unused pid is empty
	}
	if int(k.Proc.P_pid) != pid {
		return Process{}, errNoProcess
	}
	p := Process{
		PID: pid, Parent: int(k.Eproc.Ppid), Group: int(k.Eproc.Pgid), Zombie: k.Proc.P_stat == zombieStat,
		Birth: fmt.Sprintf("%d.%06d", k.Proc.P_starttime.Sec, k.Proc.P_starttime.Usec),
	}
	if sid, err := unix.Getsid(pid); err == nil {
		p.Session = sid
	}
	return p, nil
}

// sessionsBelow returns the existing sessions and process groups. Orphans do not stay
// below us here, so all processes count.
func sessionsBelow(int) (map[int]bool, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	set := map[int]bool{}
	for _, k := range all {
		set[int(k.Eproc.Pgid)] = true
		if sid, err := unix.Getsid(int(k.Proc.P_pid)); err == nil {
			set[sid] = true
		}
	}
	return set, nil
}
