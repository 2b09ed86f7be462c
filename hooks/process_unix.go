//go:build unix

package hooks

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

// ownSession puts a program into a session of its own: it has no terminal to
// ask on or to write escape sequences to, and its group can be killed whole.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// killTree ends the tree below pid, politely for as long as grace, and returns
// the pids that had to be killed besides pid. The caller closes ended when pid
// itself has been waited for.
//
// The tree is written down before the first signal: once its parent is dead, a
// child hangs below init and only the marker tells whose it was.
func killTree(pid int, marker string, grace time.Duration, ended <-chan struct{}) []int {
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
	for _, dir := range filepath.SplitList(lookupEnv(env, "PATH")) {
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
