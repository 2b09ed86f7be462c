//go:build unix

package proc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// leaseScript waits for the end of its input, ends the group of a program, and kills what is left of it
// after two seconds, on Linux also what has left the group and carries its marker.
const leaseScript = `trap '' HUP INT TERM
read -r line
kill -s TERM -- "-$1" && sleep 2
kill -s KILL -- "-$1"
[ -n "$2" ] || exit 0
for file in $(grep -lszxF -e "$2" /proc/[0-9]*/environ); do
	pid=${file#/proc/}
	kill -s KILL "${pid%/environ}"
done`

// lease ends a program when this process has ended in any way, kill -9 included: a shell reads from a
// pipe of which only this process has the other end. A death signal of the kernel would not do, because
// it is sent at the end of the thread that started the program.
type lease struct {
	cmd  *exec.Cmd
	held *os.File
}

// newLease gives a lease to a program that leads a session of its own. The caller must end it.
func newLease(pid int, marker string) (*lease, error) {
	in, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.Command("/bin/sh", "-c", leaseScript, "sh", strconv.Itoa(pid), marker)
	// In a group of its own it gets no signals of the terminal. It stays in this process's session,
	// because those who adopt orphans take processes of other sessions for such.
	cmd.Stdin, cmd.Env, cmd.Dir, cmd.SysProcAttr = in, []string{"PATH=/usr/bin:/bin"}, "/", &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		held.Close()
		return nil, err
	}
	return &lease{cmd, held}, nil
}

// end ends the lease of a program that has ended.
func (l *lease) end() {
	if l == nil {
		return
	}
	_ = l.cmd.Process.Kill() // before its input ends
	_ = l.cmd.Wait()
	l.held.Close()
}
