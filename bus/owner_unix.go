//go:build unix

package bus

import (
	"os"
	"syscall"
)

// ownedByUs says whether the file belongs to the user that we run as.
func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// modeIsPrivate says whether nobody but the owner may do anything.
func modeIsPrivate(m os.FileMode) bool { return m&0o077 == 0 }
