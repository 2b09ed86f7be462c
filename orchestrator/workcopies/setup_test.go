package workcopies

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCopyFile: a file gets its name only when all of it is copied, and one that exists
// stays. /proc/self/mem is a file whose reading fails, as a write does on a full disk.
func TestCopyFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func(dir string) *os.Root {
		t.Helper()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		return root
	}
	holds := func(root *os.Root, name, want string) {
		t.Helper()
		if got, err := root.ReadFile(name); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"from", "from/sub", "to", "to/sub"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	from, to := open(filepath.Join(dir, "from")), open(filepath.Join(dir, "to"))
	write("from/sub/.env", "KEY=whole\n")
	write("to/"+partFile, "KEY=par and more than it will have") // left by a kill
	write("from/own", "of the workspace")
	write("to/own", "of the commit")
	for _, name := range []string{"sub/.env", "own", "sub/.env"} {
		if err := copyFile(from, to, name); err != nil {
			t.Errorf("copy %s: %v", name, err)
		}
	}
	holds(to, "sub/.env", "KEY=whole\n")
	holds(to, partFile, "")
	holds(to, "own", "of the commit")
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("this system has no file whose reading fails")
	}
	if err := copyFile(open("/proc/self"), to, "mem"); err == nil {
		t.Error("reading fails, and the copy does not")
	}
	if rest, err := filepath.Glob(filepath.Join(dir, "to", "*m*")); len(rest) > 0 || err != nil {
		t.Errorf("a failed copy leaves %v, %v", rest, err)
	}
	holds(to, partFile, "")
}
