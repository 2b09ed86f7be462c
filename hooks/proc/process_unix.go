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

// familyPoll is how often EndTree checks whether the processes that got TERM are gone.
const familyPoll = 10 * time.Millisecond

// OwnSession puts a program into a session of its own: it has no terminal to prompt on or
// to write escape sequences to, and its group can be killed as a whole.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// EndTree ends a program that was started in a session of its own, and its whole tree, also
// processes that have left its session: TERM to its group, and KILL to all that is left
// after grace. pid is the program's; it may have ended before. marker is the entry
// NAME=value that only its environment has; it identifies children whose parents are gone
// (on Linux). ended must be closed when the program has been waited for. EndTree returns
// when everything that it found is gone, with the pids that it had to kill besides pid.
//
// The tree is recorded before the first signal: once its parent is dead, a child belongs to
// init, and only the marker identifies it.
func EndTree(pid int, marker string, grace time.Duration, ended <-chan struct{}) []int {
	family := familyOf(pid, marker)
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	waitFamily(family, pid, grace, ended)
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	return family.kill()
}

// waitFamily waits until the program and its children are gone, at most for grace: the
// children got TERM as well, and may have to clean up.
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

// groupAlive reports whether a process of pid's group exists. A zombie counts, so a true
// result alone does not prove that one runs.
func groupAlive(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// signalName returns the name of the signal that ended a program.
func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return state.String()
}

// LookPath finds a program in the PATH of env. Unlike os/exec it uses the program's own
// environment. Like os/exec it ignores relative PATH entries, because agents write to the
// current folder.
func LookPath(name string, env []string) (string, error) {
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
