package bus

import (
	"fmt"
	"os"
)

// privateDir checks that only this user can have created files in dir. In a folder that
// others can write to, a socket may be anybody's.
func privateDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a folder", ErrSocketDir, dir)
	}
	if !ownedByUs(info) {
		return fmt.Errorf("%w: %s belongs to another user; set XDG_RUNTIME_DIR to a folder of your own",
			ErrSocketDir, dir)
	}
	if m := info.Mode().Perm(); !modeIsPrivate(m) {
		return fmt.Errorf("%w: %s has mode %04o, which must be 0700", ErrSocketDir, dir, m)
	}
	return nil
}
