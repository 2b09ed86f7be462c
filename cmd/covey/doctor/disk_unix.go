//go:build unix

package doctor

import "golang.org/x/sys/unix"

// diskFree is the room that this user may still use on the disk of path, in
// bytes. Room that is kept back for the superuser does not count. A path that
// is not there gives an error that matches fs.ErrNotExist.
func diskFree(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
