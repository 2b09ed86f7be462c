package store

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockHolder finds the process that has a write lock on the file. It is for the error
// message only: the process may be gone when somebody reads it.
func lockHolder(path string) (pid int, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	// 7: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF
	const kind, mode, holder, file = 1, 3, 4, 5
	inode := ":" + strconv.FormatUint(stat.Ino, 10)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) > file && words[kind] == "FLOCK" && words[mode] == "WRITE" &&
			strings.HasSuffix(words[file], inode) {
			pid, err := strconv.Atoi(words[holder])
			return pid, err == nil && pid > 0
		}
	}
	return 0, false
}
