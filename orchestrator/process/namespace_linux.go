package process

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// besideUs reports whether a process is in the same user and PID namespace as this one. One
// that does not show where it is counts as elsewhere. A process makes itself such namespaces to
// hide whose it is: it is root there, and its parents are not to be seen.
func besideUs(pid int) bool {
	for _, kind := range []string{"user", "pid"} {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without such namespaces
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
