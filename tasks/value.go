package tasks

import (
	"context"
	"encoding/json"
	"fmt"
)

// Put stores a JSON value under a key, for what a run has to remember (its
// goal, say). A nil value removes the key.
func (s *Store) Put(ctx context.Context, key string, value json.RawMessage) error {
	if err := checkName("key", key); err != nil {
		return err
	}
	c := &job{op: "put"}
	// Packed before the transaction: a big value goes to a file, and writing
	// that would hold up all who wait for the committer.
	packed, err := s.packJSON(c, "value of "+key, value)
	if err != nil {
		return s.abandon(c, err)
	}
	rec := &valueRecord{Value: json.RawMessage(packed.text)}
	if packed.file != nil {
		rec = &valueRecord{Files: files{"value": *packed.file}}
	}
	c.run = func(t *txn) error { return t.setValue(key, rec) }
	return s.submit(ctx, c)
}

// setValue stores a value, or removes it when rec is empty.
func (t *txn) setValue(key string, rec *valueRecord) error {
	had, found, err := t.value(key)
	if err != nil {
		return err
	}
	at := place{bucketValues, []byte(key)}
	switch {
	// Old references go and new ones come in one transaction: a file that lost
	// one is only looked at when that is complete, and may be needed again.
	case len(rec.Value)+len(rec.Files) > 0:
		t.store(at, rec, rec.blobs(), had.blobs())
	case found:
		t.erase(at, had.blobs())
	}
	return nil
}

// Value gives the value under a key; false when there is none.
func (s *Store) Value(ctx context.Context, key string) (json.RawMessage, bool, error) {
	var value json.RawMessage
	var found bool
	err := s.view(ctx, func(r reader) error {
		var rec *valueRecord
		var err error
		rec, found, err = r.value(key)
		if err != nil || !found {
			return err
		}
		value = rec.Value
		if ref, inFile := rec.Files["value"]; inFile {
			text, err := r.files.read(ref)
			value = json.RawMessage(text)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("value of %s: %w", clip(key), err)
	}
	return value, found, nil
}

// value reads what stands under a key; false when nothing does.
func (r reader) value(key string) (*valueRecord, bool, error) {
	data := r.bucket(bucketValues).Get([]byte(key))
	if data == nil {
		return &valueRecord{}, false, nil
	}
	rec, err := decode[valueRecord]("value of "+key, data)
	return rec, err == nil, err
}
