package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
)

// job begins a change. What comes before submit runs in the caller's
// goroutine: checking the arguments and writing long payloads to files, so
// that the committer never waits for a big write.
func (s *Store) job(op string, a Actor) *job { return &job{op: op, actor: a} }

// abandon gives up a change that was never submitted.
func (s *Store) abandon(c *job, err error) error { return errors.Join(err, s.forget(c)) }

// pack cleans a text and moves it to a file if it is long.
func (s *Store) pack(c *job, text string) (long, error) {
	text = clean(text)
	if len(text) <= inlineLimit {
		return long{text: text}, nil
	}
	if s.opts.ReadOnly {
		return long{}, ErrReadOnly
	}
	ref, err := s.blobs.write(text)
	if err != nil {
		return long{}, err
	}
	c.written = append(c.written, ref.Name)
	return long{file: &ref}, nil
}

// packJSON is pack for a JSON value.
func (s *Store) packJSON(c *job, what string, data json.RawMessage) (long, error) {
	data, err := cleanJSON(what, data)
	if err != nil {
		return long{}, err
	}
	return s.pack(c, string(data))
}

// A packed value is one that the committer can store as it is: clean, of the
// right form, and in a file of its own if it is long. What was packed for a
// change that is refused is removed again, whoever refused it.

// packedMetadata is a metadata patch ready to be stored.
type packedMetadata struct {
	keys   []string // sorted; of set and removals both
	values map[string]long
}

// removes says whether the patch deletes that key, which null stands for.
func (m packedMetadata) removes(key string) bool {
	l := m.values[key]
	return l.file == nil && (l.text == "null" || l.text == "")
}

// packMetadata packs each value by itself: one long value does not move the
// others into files.
func (s *Store) packMetadata(c *job, m map[string]json.RawMessage) (packedMetadata, error) {
	keys, err := sortedKeys(m)
	if err != nil {
		return packedMetadata{}, err
	}
	packed := packedMetadata{keys: keys, values: make(map[string]long, len(keys))}
	for _, k := range keys {
		if packed.values[k], err = s.packJSON(c, "metadata "+k, m[k]); err != nil {
			return packedMetadata{}, err
		}
	}
	return packed, nil
}

// mergeMetadata applies a metadata patch and says whether it changed anything.
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
	if n := len(r.Metadata) + len(r.Files); n > maxList {
		return changed, fmt.Errorf("%w: task %s would have %d metadata keys, at most %d are allowed",
			ErrInvalid, r.ID, n, maxList)
	}
	return changed, nil
}
