package testkit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// WithoutRoot runs tests of the calling package's test binary as an unprivileged user,
// because they cannot fail as root. The first one must pass there and not be skipped. If
// t does not run as root, WithoutRoot skips it.
func WithoutRoot(t *testing.T, tests ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("the tests run without root anyway")
	}
	t.Parallel()
	const nobodyID = 65534
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, err := os.ReadFile(Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "a.test")
	if err := errors.Join(WriteProgram(bin, data), os.Chown(dir, nobodyID, nobodyID)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.v", "-test.run=^("+strings.Join(tests, "|")+")$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+tests[0]) {
		t.Errorf("%v\n%s", err, out)
	}
}
