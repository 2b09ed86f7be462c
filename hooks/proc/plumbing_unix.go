//go:build unix

package proc

import (
	"errors"
	"syscall"
	"time"
)

// maxRest is more than a pipe holds, and bounds what is taken from a child that
// goes on writing.
const maxRest = 1 << 20

// takeRest takes what an output's pipe holds at this moment, and waits for nothing. It
// reports whether that was all there will ever be: nobody has the output open.
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
			return true // also if there is nothing: the next read would wait
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
		_, _ = out.to.Write(buf[:n]) // a writer that fails is not the program's fault
		left -= n
	}
	return false
}
