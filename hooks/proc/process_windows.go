package proc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// OwnSession gives a program a process group and no console of its own.
func OwnSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// EndTree ends the tree below pid. Windows has no TERM, so there is no grace;
// taskkill is the documented way to end a tree without a job object.
func EndTree(pid int, _ string, _ time.Duration, _ <-chan struct{}) []int {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run() != nil {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
	return nil
}

func groupAlive(int) bool { return false }

func signalName(state *os.ProcessState) string { return state.String() }

// LookPath follows Windows' own rules, PATHEXT included.
func LookPath(name string, _ []string) (string, error) { return exec.LookPath(name) }
