//go:build unix

package bus

import (
	"os"
	"syscall"
)

// ownedByUs reports whether the file belongs to this process's user.
func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// modeIsPrivate reports whether only the owner has access.
func modeIsPrivate(m os.FileMode) bool { return m&0o077 == 0 }
