//go:build unix

package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// ReadNow reads what a pipe holds now, without waiting, even if its read deadline has
// passed; it clears the deadline. Without an error, 0 bytes mean that the pipe is empty and
// that a process still has it open. At its end the error is io.EOF.
func ReadNow(from *os.File, buf []byte) (n int, err error) {
	if err := from.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	conn, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}
	var bad error
	err = conn.Read(func(fd uintptr) bool {
		for {
			if n, bad = syscall.Read(int(fd), buf); !errors.Is(bad, syscall.EINTR) {
				return true // even if there is nothing: otherwise Read would wait
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case errors.Is(bad, syscall.EAGAIN):
		return 0, nil
	case bad != nil:
		return 0, bad
	case n == 0 && len(buf) > 0:
		return 0, io.EOF
	}
	return n, nil
}
