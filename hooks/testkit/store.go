package testkit

import (
	"context"
	"path/filepath"
	"testing"
)

// Store is what OpenStore needs of a store: tasks.Store has it.
type Store interface {
	Check(context.Context) error
	Close() error
}

// OpenStore opens a store that is checked and closed at the end of the test, with tasks.Open
// for open.
func OpenStore[S Store, Options any](t testing.TB, open func(path string, opts *Options) (S, error)) S {
	t.Helper()
	store, err := open(filepath.Join(t.TempDir(), "tasks.db"), nil)
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
