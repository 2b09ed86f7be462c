package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketPath(t *testing.T) {
	short := t.TempDir()
	if got := socketPath(short); got != filepath.Join(short, "control.sock") {
		t.Errorf("socketPath of a short path = %s", got)
	}
	long := "/" + strings.Repeat("long/", 40) + "team-00000000"
	run := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", run)
	got := socketPath(long)
	if filepath.Dir(got) != filepath.Join(run, "covey") || got != socketPath(long) || got == socketPath(long+"x") {
		t.Errorf("socketPath of a long path = %s", got)
	}
	for name, runtime := range map[string]string{"none": "", "relative": "x", "long": "/" + strings.Repeat("r", 100)} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", runtime)
			t.Setenv("TMPDIR", "/tmp")
			want := fmt.Sprintf("/tmp/covey-%d", os.Getuid())
			if got := socketPath(long); filepath.Dir(got) != want || len(got) > maxSocketPath {
				t.Errorf("socketPath = %s, want one in %s", got, want)
			}
		})
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", "/"+strings.Repeat("t", 100))
	if got := socketPath(long); len(got) > maxSocketPath {
		t.Errorf("socketPath = %s is too long", got)
	}
}
