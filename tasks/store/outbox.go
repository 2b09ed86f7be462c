package store

import (
	"bytes"
	"context"
	"time"
)

// The outbox is a queue with one reader. Events stay until RemoveEvents, so an event
// is delivered at least once; the reader knows the last ID that it has on disk and
// skips repeated ones.

// Event is an event to be put into the outbox: exactly one of Change, Message,
// Delivered, Merge and Request is set.
type Event struct {
	Time      time.Time `json:"time"`   // set by Emit
	Member    string    `json:"member"` // the actor; empty: covey
	Change    any       `json:"change,omitempty"`
	Message   any       `json:"message,omitempty"`
	Delivered string    `json:"delivered,omitempty"`
	Merge     any       `json:"merge,omitempty"`
	Request   any       `json:"request,omitempty"`
}

// Emit puts an event into the outbox. Its time is after that of the call that wants the change, which Now may
// not be: the transaction may have begun for others before.
func (t *Tx) Emit(e Event) {
	t.wrote = true
	e.Time = t.db.opts.Now().UTC().Round(0)
	data := t.Encode(&e)
	need, err := EventFiles(data)
	if err != nil {
		t.Fail(err)
	}
	at := Place{OutboxBucket, NumKey(t.Next(EventCounter))}
	t.Put(at.Bucket, at.Key, data)
	t.Refer(at, need, nil)
}

// Filed is the part of a stored record that lists the fields in files.
type Filed struct {
	Files Files `json:"files"`
}

// EventFiles returns the payload files that a stored event needs.
func EventFiles(stored []byte) ([]BlobRef, error) {
	if !MayHoldFiles(stored) {
		return nil, nil
	}
	e, err := Decode[struct {
		Change struct {
			Task Filed `json:"task"`
		} `json:"change"`
		Message Filed `json:"message"`
		Request Filed `json:"request"`
	}]("event", stored)
	if err != nil {
		return nil, err
	}
	var list []BlobRef
	for _, f := range []Files{e.Change.Task.Files, e.Message.Files, e.Request.Files} {
		list = append(list, f.Blobs()...)
	}
	return Distinct(list), nil
}

// RemoveEvents deletes the events up to and including upTo from the outbox.
func (db *DB) RemoveEvents(ctx context.Context, upTo uint64) error {
	return db.Job("remove events").Submit(ctx, func(t *Tx) error { return t.removeEvents(upTo) })
}

// removeEvents collects the keys before it deletes, because a bbolt cursor must not
// see its bucket change.
func (t *Tx) removeEvents(upTo uint64) error {
	type entry struct {
		key  []byte
		held []BlobRef
	}
	var gone []entry
	c := t.Bucket(OutboxBucket).Cursor()
	for k, v := c.First(); k != nil && LastNum(k) <= upTo; k, v = c.Next() {
		held, err := EventFiles(v)
		if err != nil {
			return err
		}
		gone = append(gone, entry{bytes.Clone(k), held})
	}
	for _, e := range gone {
		t.Erase(Place{OutboxBucket, e.key}, e.held)
	}
	return nil
}
