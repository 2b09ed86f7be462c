package program

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestStopFindsWhatHasLeft: the command of a tool call has a session of its own,
// and its program is killed. Nobody but Stop ends it then.
func TestStopFindsWhatHasLeft(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	o := ProcessOptions{
		Command: []string{"/bin/sh", "-c", `setsid sh -c 'exec 3>"$0"; echo up >&3; exec sleep 600' "$0" & exec sleep 600`, pipe},
		Env:     []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir(), Grace: time.Second,
	}
	p, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	alive, err := os.Open(pipe) // waits until the command has begun
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Ended
	p.Stop()
	if err := alive.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(alive); err != nil || string(said) != "up\n" { // to the end: its last writer is gone
		t.Errorf("the command still runs: read %q, %v", said, err)
	}
	p.Stop() // twice is fine
}
