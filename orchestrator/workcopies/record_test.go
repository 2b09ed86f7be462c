package workcopies

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/tasks"
)

// TestStoredAtOnce: what members record at once is all stored. An older list could be
// stored last; each round is another chance for that.
func TestStoredAtOnce(t *testing.T) {
	store, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for key, empty := range map[string]func() func(context.Context, string) error{
		keyTrees: func() func(context.Context, string) error {
			r := &record{store: store, known: map[string]Tree{}}
			return func(ctx context.Context, name string) error { return r.keep(ctx, name, Tree{Root: name}) }
		},
		keyBranches: func() func(context.Context, string) error { return (&record{store: store}).claim },
	} {
		for range 60 {
			add, names := empty(), []string{"ana", "ben", "cem", "dee"}
			var wg sync.WaitGroup
			for _, name := range names {
				wg.Go(func() {
					if err := add(t.Context(), name); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			var kept json.RawMessage
			if err := tasks.ReadValue(t.Context(), store, key, &kept); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(string(kept), name) }) {
				t.Errorf("%s: stored is only %s", key, kept)
				break
			}
		}
	}
}
