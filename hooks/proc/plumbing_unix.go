//go:build unix

package proc

import (
	"errors"
	"syscall"
	"time"
)

// maxRest is more than a pipe holds, and bounds what is read from a child that keeps
// writing.
const maxRest = 1 << 20

// takeRest reads what an output's pipe holds now, without waiting. It reports whether the
// output has ended, because no process has it open.
func takeRest(out output) (ended bool) {
	conn, err := out.from.SyscallConn()
	if err != nil || out.from.SetReadDeadline(time.Time{}) != nil {
		return false
	}
	buf := make([]byte, 32<<10)
	for left := maxRest; left > 0; {
		var n int
		var bad error
		err := conn.Read(func(fd uintptr) bool {
			n, bad = syscall.Read(int(fd), buf)
			return true // even if there is nothing: otherwise Read would wait
		})
		switch {
		case err != nil:
			return false
		case errors.Is(bad, syscall.EINTR):
			continue
		case bad != nil:
			return false
		case n == 0:
			return true
		}
		_, _ = out.to.Write(buf[:n]) // a failing writer must not stop the program
		left -= n
	}
	return false
}
