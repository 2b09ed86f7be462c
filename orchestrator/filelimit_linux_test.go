package orchestrator_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// fileLimit bounds how far this process may write into a file; 0: no further than before.
func fileLimit(t *testing.T, bytes uint64) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
	if limit.Cur = bytes; bytes == 0 {
		limit.Cur = limit.Max
	}
	if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)); err != nil {
		t.Log(err)
	}
}

// isFullDisk says whether an error came from a file that could not grow.
func isFullDisk(err error) bool {
	return errors.Is(err, tasks.ErrDisk) || errors.Is(err, syscall.EFBIG)
}
