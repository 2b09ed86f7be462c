//go:build unix

package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemove: the folder goes when the last look agrees, and not while the team runs.
func TestRemove(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	lock, err := LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := Remove(p, func() error { return nil }); !errors.Is(err, ErrRunning) {
		t.Errorf("a running team: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if err := Remove(p, func() error { return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	if _, err := ReadRunFile(p); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
	// A file that cannot be removed leaves the team where commands find it.
	stuck := mustMkdir(t, p.Dir, "transcripts", "ana")
	if err := os.WriteFile(filepath.Join(stuck, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 { // who may remove everything
		if err := os.Chmod(stuck, 0o500); err != nil {
			t.Fatal(err)
		}
		if err := Remove(p, func() error { return nil }); err == nil {
			t.Error("nothing failed")
		}
		if found, err := Find(p.Workspace, "crew"); err != nil || found != p {
			t.Errorf("found %v, %v", found, err)
		}
		if err := os.Chmod(stuck, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := Remove(p, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if all, err := All(); err != nil || len(all) != 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}

// TestRemoveWhileStarting: a team that opened the lock before it was removed does not run without
// its folder, nor beside another that has made it again.
func TestRemoveWhileStarting(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	var opened *os.File
	err := Remove(p, func() (err error) {
		opened, err = os.OpenFile(p.Lock(), os.O_RDWR, 0o600)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(p, opened); err == nil || !strings.Contains(err.Error(), "was removed meanwhile") {
		t.Errorf("got %v", err)
	}
}
