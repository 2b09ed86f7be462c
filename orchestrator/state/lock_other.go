//go:build !unix

package state

import (
	"errors"
	"os"
)

// errLocked reports that another process holds a lock.
var errLocked = errors.New("locked")

// tryLock cannot lock here. The store's own lock excludes a second team.
func tryLock(*os.File) error { return nil }

// tryLockShared never finds a lock here.
func tryLockShared(*os.File) error { return nil }

// unlock does nothing here.
func unlock(*os.File) error { return nil }

// syncDir does nothing here: a rename is durable by itself.
func syncDir(string) error { return nil }

// checkPrivate does nothing here: there are no modes to check.
func checkPrivate(string) error { return nil }
