//go:build !unix

package state

import (
	"errors"
	"os"
)

// errLocked is returned when somebody else holds a lock.
var errLocked = errors.New("locked")

// tryLock cannot lock here. The store's own lock keeps a second team out.
func tryLock(*os.File) error { return nil }

// tryLockShared never finds a lock here.
func tryLockShared(*os.File) error { return nil }

// syncDir has no meaning here: a rename is durable by itself.
func syncDir(string) error { return nil }

// checkPrivate has no modes to check here.
func checkPrivate(string) error { return nil }
