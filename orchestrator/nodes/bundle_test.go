package nodes

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBundle: what an operator of the credentials has signed for the team is taken, and nothing else, nor a
// bundle that is changed on its way.
func TestBundle(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, foreign, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := Bundle{Team: "crew", Spec: "team.yaml", Files: []File{{"gates/check.sh", 0o755, []byte("#!/bin/sh\n")}, {"team.yaml", 0o644, []byte("x")}}}
	signed, err := b.Sign(private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signed.Open("crew", []ed25519.PublicKey{other, public}); err != nil {
		t.Error(err)
	}
	byOther, err := b.Sign(foreign)
	if err != nil {
		t.Fatal(err)
	}
	changed := signed
	changed.Bundle = []byte(strings.Replace(string(signed.Bundle), "check.sh", "other.sh", 1))
	bare := signed
	bare.Signature = ed25519.Sign(private, signed.Bundle) // as another use of the key would
	for name, s := range map[string]Signed{"foreign": byOther, "changed": changed, "bare": bare, "empty": {}} {
		if _, err := s.Open("crew", []ed25519.PublicKey{public}); !errors.Is(err, ErrUnsigned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := signed.Open("other", []ed25519.PublicKey{public}); !errors.Is(err, ErrUnsigned) {
		t.Error(err)
	}
	if signed.Digest() == changed.Digest() {
		t.Error("two bundles have one digest")
	}
}

// TestBundleWrite: files are written where they belong, over what is there, and never outside of the folder
// or into git's own.
func TestBundleWrite(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	b := Bundle{Files: []File{{"gates/check.sh", 0o755, []byte("a")}, {"file", 0o644, []byte("b")}}}
	for range 2 {
		if err := b.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "gates", "check.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Error(info, err)
	}
	for _, name := range []string{"../x", "/x", ".git/hooks/x", ".GIT/config", "link/x", ""} {
		if err := (Bundle{Files: []File{{name, 0o644, nil}}}).Write(dir); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
}

// TestOwner: a node's owner allows what the file names, and mistakes in it have a place.
func TestOwner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("teams: [crew]\nrepositories: [\"*/crew.git\"]\ncommands: [go test ./..., \"claude*\"]\n")
	o, err := ReadOwner(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{o.TakesTeam("crew"), o.TakesRepository("git@host:a/crew.git"), o.TakesCommands([]string{"claude --x", "go test ./..."})} {
		if err != nil {
			t.Error(err)
		}
	}
	err = o.TakesCommands([]string{"claude", "rm -rf /", "go test ./... && x"})
	if !errors.Is(err, ErrOwner) || !strings.Contains(err.Error(), `["rm -rf /" "go test ./... && x"]`) {
		t.Error(err)
	}
	for _, err := range []error{o.TakesTeam("other"), o.TakesRepository("git@host:other.git"), (Owner{}).TakesTeam("crew"), (Owner{}).TakesCommands([]string{"x"})} {
		if !errors.Is(err, ErrOwner) {
			t.Error(err)
		}
	}
	write("teams: crew\ncomands: []\n")
	if _, err := ReadOwner(file); err == nil || !strings.Contains(err.Error(), ":1:8:") || !strings.Contains(err.Error(), ":2:1:") {
		t.Error(err)
	}
}
