package tasks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/coveyteam/covey/tasks/store"
)

// packedMetadata is a metadata patch ready to be stored.
type packedMetadata struct {
	keys   []string // sorted; those that are set and those that are removed
	values map[string]store.Long
}

// removes reports whether the patch deletes the key, which null stands for.
func (m packedMetadata) removes(key string) bool {
	l := m.values[key]
	return l.File == nil && (l.Text == "null" || l.Text == "")
}

// packMetadata packs each value separately, so that one long value does not move the
// others into files.
func packMetadata(c *store.Job, m map[string]json.RawMessage) (packedMetadata, error) {
	keys, err := sortedKeys(m)
	if err != nil {
		return packedMetadata{}, err
	}
	packed := packedMetadata{keys: keys, values: make(map[string]store.Long, len(keys))}
	for _, k := range keys {
		if packed.values[k], err = c.PackJSON("metadata "+k, m[k]); err != nil {
			return packedMetadata{}, err
		}
	}
	return packed, nil
}

// mergeMetadata applies a metadata patch and reports whether it changed anything.
func (r *taskRecord) mergeMetadata(m packedMetadata) (changed bool, err error) {
	for _, k := range m.keys {
		field := metadataPrefix + k
		switch {
		case m.removes(k):
			changed = r.unset(k) || changed
		case !r.same(field, m.values[k]):
			r.set(field, m.values[k])
			changed = true
		}
	}
	if n := len(r.Metadata) + len(r.Files); n > store.MaxList {
		return changed, fmt.Errorf("%w: task %s would have %d metadata keys, at most %d are allowed",
			ErrInvalid, r.ID, n, store.MaxList)
	}
	return changed, nil
}

// sortedKeys checks the keys of a metadata map and returns them sorted.
func sortedKeys[V any](m map[string]V) ([]string, error) {
	if len(m) > store.MaxList {
		return nil, fmt.Errorf("%w: %d metadata keys, at most %d are allowed", store.ErrInvalid, len(m), store.MaxList)
	}
	keys := slices.Sorted(maps.Keys(m))
	for _, k := range keys {
		if err := store.CheckName("metadata key", k); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
