// Package testkit has helpers for tests. It sets up test binaries, so that `go test ./...`
// uses a machine well, writes files, starts programs, waits for conditions and makes git
// repositories. Only tests import it. It makes no promise of compatibility to programs
// outside covey.
package testkit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience bounds all waits, so that a test that hangs fails.
const Patience = 5 * time.Minute

// Binary returns the path of the test's own program.
func Binary(t testing.TB) string {
	t.Helper()
	bin, err := os.Executable()
	Must(t, err)
	return bin
}

// WriteProgram writes a file that will be executed. No process may start meanwhile: a
// child that another test forks keeps the file open for writing until it executes its own
// program, and the kernel refuses to execute a file that is open for writing ("text file
// busy").
func WriteProgram(path string, data []byte) error { return writeFile(path, data, 0o755) }

func writeFile(path string, data []byte, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, mode)
}

// Eventually waits for a condition without an event. It checks less and less often,
// because a check may be costly.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for pause := time.Millisecond; !ok(); pause = min(pause*5/4, 25*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen", what)
		}
		time.Sleep(pause)
	}
}

// WaitForPID waits for a file with a process id and returns the id.
func WaitForPID(t testing.TB, path string) (pid int) {
	t.Helper()
	Eventually(t, "a process number in "+path, func() bool {
		data, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	return pid
}

// Must ends a test after an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Put writes an executable file, and creates its folder.
func Put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	Must(t, WriteProgram(path, []byte(text)))
}

// Read returns the contents of a file.
func Read(t testing.TB, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	Must(t, err)
	return string(data)
}

// AwaitFile waits until there is a file that holds a text.
func AwaitFile(t testing.TB, path, text string) {
	t.Helper()
	Eventually(t, path+" with "+strconv.Quote(text), func() bool {
		data, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(data), text)
	})
}
