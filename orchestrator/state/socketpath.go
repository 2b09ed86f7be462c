package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// maxSocketPath is the longest path of a unix socket on all systems: sun_path holds 104
// bytes on macOS and 108 on Linux, with a final 0.
const maxSocketPath = 103

// The folders of the sockets that are no member's. No member can have such a name.
const (
	operatorSocket = "_operator"
	nobodysSocket  = "_team"
)

// SocketVariable names the variable with the socket at which a process of the team reaches it.
const SocketVariable = "COVEY_SOCKET"

// Socket returns where the operator reaches the team while it runs. Its run.json records
// the path too, which is right even if the environment has changed.
func (p Place) Socket() string { return socketPath(p.Dir, operatorSocket) }

// MemberSocket returns where the processes of a member reach the team, in a folder of its own. An
// empty name stands for those that belong to no member.
func (p Place) MemberSocket(member string) string {
	if member == "" {
		member = nobodysSocket
	}
	return socketPath(p.Dir, member)
}

// ClearSockets removes the folders of all sockets of the team, which must not listen.
func (p Place) ClearSockets() error {
	errs := []error{os.RemoveAll(filepath.Join(p.Dir, socketsFolder))}
	for _, dir := range socketHomes() {
		short, err := filepath.Glob(filepath.Join(dir, shortFolder(p.Dir, "*")))
		for _, folder := range short {
			errs = append(errs, os.RemoveAll(folder))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Inside returns the team to which this process belongs as its environment says, and its socket
// there; false: the environment names none. In a sandbox it cannot read the team's files.
func Inside() (p Place, socket string, ok bool) {
	p = Place{Dir: os.Getenv(RunVariable), Team: os.Getenv("COVEY_TEAM"), Workspace: os.Getenv("COVEY_WORKSPACE")}
	socket = os.Getenv(SocketVariable)
	ok = socket != "" && p.Dir != "" && filepath.Base(p.Dir) == FolderOf(p.Team, p.Workspace)
	return p, socket, ok
}

// SocketError returns the error that the team cannot listen at a socket, with the way out.
func (p Place) SocketError(socket string, err error) error {
	if strings.HasPrefix(socket, p.Dir+string(filepath.Separator)) {
		return FolderError(err)
	}
	return fmt.Errorf("%w: %w; mend that, or set XDG_RUNTIME_DIR to another folder, or COVEY_STATE_HOME to a shorter path",
		ErrFolder, err)
}

const (
	socketsFolder = "sockets"
	socketName    = "covey.sock"
)

// socketPath returns the path of a socket of the team with its state in stateDir. The socket has a
// folder of its own, in that of the state or, if the path is too long for a socket, under
// XDG_RUNTIME_DIR or the folder for temporary files. It depends only on stateDir, the name and the
// environment.
func socketPath(stateDir, name string) string {
	path := filepath.Join(stateDir, socketsFolder, name, socketName)
	for _, dir := range socketHomes() {
		if len(path) <= maxSocketPath {
			break
		}
		path = filepath.Join(dir, shortFolder(stateDir, name), socketName)
	}
	return path
}

// socketHomes lists where the folders of sockets may be if the state's own path is too long.
func socketHomes() (dirs []string) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		dirs = append(dirs, dir)
	}
	return append(dirs, os.TempDir(), "/tmp")
}

// shortFolder returns the name of a socket's folder in one of socketHomes, where others can make
// folders, too: Listen refuses one that is not this user's.
func shortFolder(stateDir, name string) string {
	return "covey-" + texts.Digest(stateDir)[:16] + "-" + name
}
