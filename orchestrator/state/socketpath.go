package state

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

// SocketError returns the error that the team cannot listen at its Socket, with the way out.
func (p Place) SocketError(err error) error {
	if filepath.Dir(p.Socket()) == p.Dir {
		return FolderError(err)
	}
	return fmt.Errorf("%w: %w; mend that, or set XDG_RUNTIME_DIR to another folder, or COVEY_STATE_HOME to a shorter path",
		ErrFolder, err)
}

// socketPath returns where the team with its state in stateDir listens: in that folder,
// or, if the path is too long for a socket, in a folder of this user under
// XDG_RUNTIME_DIR or the folder for temporary files. It depends only on stateDir and the
// environment.
func socketPath(stateDir string) string {
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
