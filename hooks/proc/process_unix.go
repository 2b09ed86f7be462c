//go:build unix

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// familyPoll is how often killTree looks whether what got TERM is gone.
const familyPoll = 10 * time.Millisecond

// OwnSession puts a program into a session of its own: it has no terminal to
// ask on or to write escape sequences to, and its group can be killed whole.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// EndTree ends a program that was started in a session of its own, and whatever
// descends from it, also what has left its session: TERM to its group, and KILL
// to all that is left after grace. pid is the program's; it may have ended
// before. marker is the entry NAME=value of its environment that no other
// process has; children whose parents are gone are found by it (on Linux).
// ended must be closed when the program has been waited for. EndTree returns
// once everything that it could find is gone, and names what it had to kill
// besides pid.
//
// The tree is noted before the first signal: once its parent is dead, a child
// hangs below init and only the marker tells whose it was.
func EndTree(pid int, marker string, grace time.Duration, ended <-chan struct{}) []int {
	family := familyOf(pid, marker)
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	waitFamily(family, pid, grace, ended)
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	return family.kill()
}

// waitFamily waits until the program and its children are gone, or for as long
// as grace: the children were asked to end as well, and may have to clean up.
func waitFamily(f *family, pid int, grace time.Duration, ended <-chan struct{}) {
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	select {
	case <-ended:
	case <-deadline.C:
		return
	}
	poll := time.NewTicker(familyPoll)
	defer poll.Stop()
	for groupAlive(pid) && f.alive() {
		select {
		case <-poll.C:
		case <-deadline.C:
			return
		}
	}
}

// groupAlive reports whether a process of pid's group is left. A dead one whose
// parent has not waited for it yet counts, so this alone proves nothing.
func groupAlive(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// signalName names the signal that ended a program.
func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return state.String()
}

// lookPath finds a program on the PATH of env. Unlike os/exec it uses the
// program's own environment, and like os/exec it never takes one from the
// current folder by a relative PATH entry: agents write there.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	denied := false
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return path, nil
		}
		denied = true
	}
	if denied {
		return "", os.ErrPermission
	}
	return "", exec.ErrNotFound
}
