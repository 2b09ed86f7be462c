//go:build unix

package proc

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slack is what a busy machine may add to a limit. What hangs takes far longer.
const slack = 20 * time.Second

// timed runs f and fails the test if it takes longer than limit and slack.
func timed(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > limit+slack {
		t.Errorf("took %v, want at most %v", took, limit+slack)
	}
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("%s: not within a minute", what)
}

// pidIn reads a pid that another process writes.
func pidIn(t *testing.T, file string) (pid int) {
	t.Helper()
	eventually(t, file, func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	return pid
}
