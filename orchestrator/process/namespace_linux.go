package process

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// sameNamespace reports whether a process is in the same user and PID namespace as this
// one; false if that cannot be read. A process could create such namespaces to hide its
// owner: it is root there, and its parents are not visible.
func sameNamespace(pid int) bool {
	for _, kind := range []string{"user", "pid"} {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the kernel has no such namespaces
		}
		if err != nil {
			return false
		}
		its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
		if err != nil || its != ours {
			return false
		}
	}
	return true
}
