//go:build unix

package store

import (
	"errors"
	"syscall"
)

// unsyncable reports whether err only means that folders cannot be synced here.
func unsyncable(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}
