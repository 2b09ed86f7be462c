package testkit

import "golang.org/x/sys/unix"

// enough is how many bytes of memory the tests of all packages need for their files.
const enough = 2 << 30

// memoryDir returns the folder for temporary files in memory; empty if there is none, if
// programs cannot run there, or if it is too small, as in many containers.
func memoryDir() string {
	const dir = "/dev/shm"
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || int64(fs.Type) != unix.TMPFS_MAGIC || fs.Flags&unix.ST_NOEXEC != 0 ||
		unix.Access(dir, unix.W_OK) != nil || fs.Bavail*uint64(fs.Bsize) < enough {
		return ""
	}
	return dir
}
