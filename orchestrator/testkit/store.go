package testkit

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// OpenStore opens a store that is checked and closed at the end of the test.
func OpenStore(t testing.TB) *tasks.Store {
	t.Helper()
	dir := t.TempDir()
	store, err := tasks.Open(filepath.Join(dir, "tasks.db"), &tasks.Options{BlobDir: filepath.Join(dir, "blobs")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Check(context.Background()); err != nil {
			t.Errorf("the store is not in order: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
