//go:build unix

package proc

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// returns runs f, which must come back although nobody reads what its program writes. What
// hangs takes longer than any machine needs.
func returns(t *testing.T, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > 5*time.Minute {
		t.Errorf("it has waited for %v", took)
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
