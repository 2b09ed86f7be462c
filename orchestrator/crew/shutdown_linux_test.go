package crew_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sleepersIn lists the processes with the working directory dir that sleep for the
// minutes that the tests of leaving members have them sleep.
func sleepersIn(t *testing.T, dir string) []int {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		cwd, err2 := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err == nil && err2 == nil && cwd == dir && strings.Contains(string(line), "sleep\x0060") {
			found = append(found, pid)
		}
	}
	return found
}
