package bus

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestTrial: three servers have a leader, take the key that they wrote, and go on in their folder, which git leaves alone.
func TestTrial(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	repo := t.TempDir()
	dir := filepath.Join(repo, "servers")
	var urls []string
	for range 2 {
		trial, err := StartTrial(ctx, dir, "covey", nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(urls) > 0 && urls[0] != trial.URL[0] {
			t.Errorf("the servers moved from %s to %s", urls[0], trial.URL[0])
		}
		urls = trial.URL
		key, err := nats.NkeyOptionFromSeed(trial.Creds)
		if err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect(urls[2], key)
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
		if nc, err := nats.Connect(urls[0]); err == nil {
			nc.Close()
			t.Error("a connection without a key was taken")
		}
		trial.Close()
	}
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if out, err := exec.Command("git", "-C", repo, "status", "--porcelain").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("git would add the keys of the servers: %v: %s", err, out)
	}
}
