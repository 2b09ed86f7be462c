//go:build unix

package doctor

import "golang.org/x/sys/unix"

// diskFree returns how many bytes this user may still use on the disk of path. Space
// reserved for the superuser does not count.
func diskFree(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
