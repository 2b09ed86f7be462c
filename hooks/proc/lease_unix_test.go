//go:build unix

package proc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestLease: what a process has started with a lease ends with it, also after kill -9, even if it
// minds no signal and a part of it has left the session; without a kill nobody is left.
func TestLease(t *testing.T) {
	const marker = "PROC_LEASE_MARKER=only-this-test"
	if dir := os.Getenv("PROC_LEASE"); dir != "" { // the process that is killed
		p := Process{
			Args: []string{"/bin/sh", "-c", "trap '' TERM; if command -v setsid >/dev/null; then setsid sh -c 'echo $$ >stray; exec sleep 600' & fi; " +
				"echo $$ >program; exec sleep 600"},
			Dir: dir, Env: append(os.Environ(), "PROC_LEASE=", marker), Marker: marker, Leased: true,
		}
		if _, err := p.Run(context.Background()); err != nil {
			t.Error(err)
		}
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLease$")
	cmd.Env = append(os.Environ(), "PROC_LEASE="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	files := []string{"program"}
	if _, err := exec.LookPath("setsid"); err == nil && runtime.GOOS == "linux" {
		files = append(files, "stray")
	}
	pids := map[string]int{}
	for _, file := range files {
		pids[file] = pidIn(t, filepath.Join(dir, file))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for file, pid := range pids {
		eventually(t, "the end of the "+file, func() bool { return !Alive(pid) })
	}

	r, err := Process{Args: []string{"/bin/sh", "-c", "exit 3"}, Leased: true}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if exit := r.Wait(); exit.Code != 3 || r.lease.cmd.ProcessState == nil {
		t.Errorf("%+v, and its watcher is %v", exit, r.lease.cmd.ProcessState)
	}
}
