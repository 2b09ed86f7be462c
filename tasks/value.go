package tasks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/tasks/store"
)

// Put stores a JSON value under a key, for what a run has to remember, such as its
// goal. A nil value removes the key.
func (s *Store) Put(ctx context.Context, key string, value json.RawMessage) error {
	if err := store.CheckName("key", key); err != nil {
		return err
	}
	c := s.db.Job("put")
	// Pack before the transaction: a big value goes to a file, and writing that would
	// hold up everybody who waits for the committer.
	packed, err := c.PackJSON("value of "+key, value)
	if err != nil {
		return c.Abandon(err)
	}
	rec := &valueRecord{}
	rec.Value = json.RawMessage(rec.Files.Put("value", packed))
	return c.Submit(ctx, func(t *store.Tx) error { return setValue(t, key, rec) })
}

// setValue stores a value, or removes it when rec is empty.
func setValue(t *store.Tx, key string, rec *valueRecord) error {
	had, found, err := findValue(t.Reader, key)
	if err != nil {
		return err
	}
	at := store.Place{Bucket: bucketValues, Key: []byte(key)}
	switch {
	// Old references are removed and new ones added in one transaction: unreferenced
	// files are deleted only after it, and a file may be needed again.
	case len(rec.Value)+len(rec.Files) > 0:
		t.Store(at, rec, rec.Files.Blobs(), had.Files.Blobs())
	case found:
		t.Erase(at, had.Files.Blobs())
	}
	return nil
}

// setValues stores several values.
func setValues(t *store.Tx, values map[string]json.RawMessage) error {
	for key, value := range values {
		if err := store.CheckName("key", key); err != nil {
			return err
		}
		data, err := store.CleanJSON("value of "+key, value)
		if err != nil {
			return err
		}
		if err := setValue(t, key, &valueRecord{Value: data}); err != nil {
			return err
		}
	}
	return nil
}

// ReadValue decodes the value under key into the value that into points to. It leaves
// that value unchanged if there is none.
func ReadValue(ctx context.Context, s *Store, key string, into any) error {
	stored, ok, err := s.Value(ctx, key)
	if err != nil || !ok {
		return err
	}
	if err := json.Unmarshal(stored, into); err != nil {
		return fmt.Errorf("read %q of the store: %w", key, err)
	}
	return nil
}

// Value returns the value under a key. The bool is false if there is none.
func (s *Store) Value(ctx context.Context, key string) (json.RawMessage, bool, error) {
	found := false
	value, err := store.View(ctx, s.db, "value of "+store.Clip(key), func(r store.Reader) (json.RawMessage, error) {
		var rec *valueRecord
		var err error
		if rec, found, err = findValue(r, key); err != nil {
			return nil, err
		}
		text, err := rec.Files.Text(r.Blobs(), "value", string(rec.Value))
		return json.RawMessage(text), err
	})
	return value, found && err == nil, err
}

// findValue reads the value under a key. The bool is false if there is none.
func findValue(r store.Reader, key string) (*valueRecord, bool, error) {
	data := r.Bucket(bucketValues).Get([]byte(key))
	if data == nil {
		return &valueRecord{}, false, nil
	}
	rec, err := store.Decode[valueRecord]("value of "+key, data)
	return rec, err == nil, err
}
