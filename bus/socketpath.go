package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// maxSocketPath is the longest path of a unix socket on all systems: sun_path holds 104
// bytes on macOS and 108 on Linux, with a final 0.
const maxSocketPath = 103

// SocketPath returns where the team with its state in stateDir listens: in that folder,
// or, if the path is too long for a socket, in a folder of this user under
// XDG_RUNTIME_DIR or the folder for temporary files. It depends only on stateDir and the
// environment.
func SocketPath(stateDir string) string {
	if p := filepath.Join(stateDir, "control.sock"); len(p) <= maxSocketPath {
		return p
	}
	sum := sha256.Sum256([]byte(stateDir))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if p := filepath.Join(dir, "covey", name); len(p) <= maxSocketPath {
			return p
		}
	}
	own := "covey-" + strconv.Itoa(os.Getuid())
	if p := filepath.Join(os.TempDir(), own, name); len(p) <= maxSocketPath {
		return p
	}
	return filepath.Join("/tmp", own, name)
}

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
