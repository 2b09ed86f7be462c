package proc

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/sandbox"
)

// boxedVariable makes the test binary hide its memory, which boxes need and other tests cannot have.
const boxedVariable = "COVEY_TEST_BOXED"

func TestMain(m *testing.M) {
	if os.Getenv(boxedVariable) != "" {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// Processes in boxes are limited, started and ended like others, also those that have left their
// session; their programs and exit codes are told in the same way.
func TestProcessInBox(t *testing.T) {
	if os.Getenv(boxedVariable) == "" {
		bin, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin, "-test.run=^TestProcessInBox$", "-test.v")
		cmd.Env = append(os.Environ(), boxedVariable+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestProcessInBox")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	all := sandbox.Probe()
	for _, level := range []sandbox.Level{sandbox.Files, sandbox.Mounts} {
		s := all
		s.Namespaces = level == sandbox.Mounts
		if all.Level() < level {
			t.Logf("level %d is not held here: %v", level, all.Missing)
			continue
		}
		dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
			t.Fatal(err)
		}
		read, write := sandbox.System()
		box, err := sandbox.New(sandbox.Policy{Want: sandbox.Best, Read: read, Write: append(write[:1:1], dir)}, s, sandbox.Extras{})
		if err != nil {
			t.Fatal(err)
		}
		boxed := func(script string, out *buffer) Process {
			p := sh(script, out)
			p.Box, p.Dir, p.Marker, p.Grace = box, dir, "M="+dir, 50*time.Millisecond
			p.Env = append(os.Environ(), p.Marker)
			return p
		}
		var out buffer
		exit, err := boxed("cat "+secret+"; exit 7", &out).Run(t.Context())
		if err != nil || exit.Code != 7 || strings.Contains(out.String(), "SECRET") {
			t.Errorf("level %d: %+v, %v, %q", level, exit, err, out.String())
		}
		none := boxed("", &out)
		none.Args = []string{filepath.Join(dir, "none")}
		if _, err := none.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("level %d: a program that is not there: %v", level, err)
		}
		if _, err := exec.LookPath("setsid"); err != nil {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { pidIn(t, filepath.Join(dir, "pid")); cancel() }()
		_, err = boxed(`(setsid sh -c 'echo $$ >pid; exec sleep 600' &) ; sleep 600`, &out).Run(ctx)
		if pid := pidIn(t, filepath.Join(dir, "pid")); Alive(pid) {
			t.Errorf("level %d: child %d goes on: %v", level, pid, err)
		}
	}
}
