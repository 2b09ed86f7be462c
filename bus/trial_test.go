package bus

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestTrial: three servers have a leader, take the key that they wrote, and go on in their folder.
func TestTrial(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
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
}
