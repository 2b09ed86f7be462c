package teamhooks

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGateSettingsAtomic: a copy is never written in place. A gate that has opened one reads it
// whole while it is restored, and a kill leaves no part of a first copy.
func TestGateSettingsAtomic(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("GOENV", filepath.Join(home, "goenv"))
	if err := os.WriteFile(filepath.Join(home, "goenv"), []byte("GOFLAGS=-v\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var s GateSettings
	if _, err := s.Open(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "goenv")
	if err := os.WriteFile(path, []byte("GOFLAGS=-run=none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Environ(); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || os.SameFile(before, after) {
		t.Errorf("the copy was written in place, %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "GOFLAGS=-v\n" {
		t.Errorf("the copy has %q, %v", text, err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(list) != 0 {
		t.Errorf("%q is left, %v", list, err)
	}
}
