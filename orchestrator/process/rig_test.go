package process

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// testPatience bounds what a test waits for: it is for what hangs.
const testPatience = time.Minute

// testBinary is the path of this test's own program.
func testBinary(t *testing.T) string {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// writeProgram writes a file that is going to be executed. No process may be started
// meanwhile: a child that another test forks has the file open for writing until it
// executes its own program, and the kernel executes no file that somebody writes to
// ("text file busy").
func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

// eventually waits for a condition that no event tells of.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testPatience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen", what)
		}
	}
}
