package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"
)

// Reader reads the buckets within one transaction.
type Reader struct {
	tx    *bolt.Tx
	blobs *Blobs
	stop  func() error // called now and then during long reads
}

// Bucket returns a bucket.
func (r Reader) Bucket(name string) Bucket { return bucketOf(r.tx, name) }

// Blobs returns the payload files.
func (r Reader) Blobs() *Blobs { return r.blobs }

// Stopped returns, on every 1024th step, an error if the caller has given up.
func (r Reader) Stopped(step int) error {
	const often = 1024
	if step%often != 0 {
		return nil
	}
	return r.stop()
}

// Count returns the last number that was assigned.
func (r Reader) Count(c Counter) uint64 { return LastNum(r.Bucket(bucketMeta).Get(c.key())) }

// A Counter is a number that only rises.
type Counter int

// The counters.
const (
	TaskCounter    Counter = iota // highest task id assigned
	EventCounter                  // last event id
	MergeCounter                  // last merge id
	MailCounter                   // last mail sequence number
	ClosedCounter                 // number of closed requests
	RequestCounter                // highest request number assigned
	counterKinds
)

// key returns the counter's key in bucketMeta.
func (c Counter) key() []byte {
	return []byte([...]string{"task", "event", "merge", "mail", "request", "asked"}[c])
}

// Bucket is one bucket of the store. It verifies the checksums of values and returns
// them without it.
type Bucket struct {
	bolt *bolt.Bucket
	name string
}

// bucketOf returns a bucket. If the store lacks it, the result's bolt is nil.
func bucketOf(tx *bolt.Tx, name string) Bucket { return Bucket{tx.Bucket([]byte(name)), name} }

// Get returns the value under a key; nil if there is none.
//
// If the key is not found, it may be damaged. A damaged key is stored close to the
// place of the right one, so the entries on both sides of that place are verified.
func (b Bucket) Get(key []byte) []byte {
	c := b.bolt.Cursor()
	k, v := c.Seek(key)
	if bytes.Equal(k, key) && k != nil {
		return unseal(b.name, k, v)
	}
	if k != nil {
		unseal(b.name, k, v)
		k, v = c.Prev()
	} else {
		k, v = c.Last()
	}
	if k != nil {
		unseal(b.name, k, v)
	}
	return nil
}

// Cursor returns a cursor over the entries of the bucket.
func (b Bucket) Cursor() Cursor { return Cursor{b.bolt.Cursor(), b.name} }

// Each iterates over the keys that start with prefix, in order, with their values. Meanwhile the bucket
// must not change.
func (b Bucket) Each(prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		c := b.Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if !yield(k, v) {
				return
			}
		}
	}
}

// Any reports whether the bucket holds a key that starts with prefix.
func (b Bucket) Any(prefix []byte) bool {
	k, _ := b.Cursor().Seek(prefix)
	return k != nil && bytes.HasPrefix(k, prefix)
}

// Numbers returns the numbers at the end of the keys with this prefix, in order, at
// most limit of them; 0 means all.
func (b Bucket) Numbers(prefix []byte, limit int) []uint64 {
	var list []uint64
	for k := range b.Each(prefix) {
		if list = append(list, LastNum(k)); len(list) == limit {
			break
		}
	}
	return list
}

// Cursor is a bbolt cursor that verifies values as Bucket does.
type Cursor struct {
	bolt *bolt.Cursor
	name string
}

func (c Cursor) entry(k, v []byte) (key, value []byte) {
	if k == nil {
		return nil, nil
	}
	return k, unseal(c.name, k, v)
}

// First moves to the first entry.
func (c Cursor) First() (key, value []byte) { return c.entry(c.bolt.First()) }

// Last moves to the last entry.
func (c Cursor) Last() (key, value []byte) { return c.entry(c.bolt.Last()) }

// Next moves one entry forward.
func (c Cursor) Next() (key, value []byte) { return c.entry(c.bolt.Next()) }

// Prev moves one entry back.
func (c Cursor) Prev() (key, value []byte) { return c.entry(c.bolt.Prev()) }

// Seek moves to the first entry whose key is not less than k.
func (c Cursor) Seek(k []byte) (key, value []byte) { return c.entry(c.bolt.Seek(k)) }

// Decode decodes a record. Its error wraps ErrCorrupt.
func Decode[R any](what string, data []byte) (*R, error) {
	r := new(R)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, what, err)
	}
	return r, nil
}

// Records returns the records whose keys start with prefix. format formats a record's key into its name for
// errors. The list is never nil.
func Records[R any](r Reader, bucket, format string, prefix []byte) ([]R, error) {
	return All(r, bucket, prefix, func(k, v []byte) (record R, err error) {
		decoded, err := Decode[R](fmt.Sprintf(format, k), v)
		if err == nil {
			record = *decoded
		}
		return record, err
	})
}

// All returns the results of open for the entries whose keys start with prefix. The
// list is never nil.
func All[T any](r Reader, bucket string, prefix []byte, open func(key, value []byte) (T, error)) ([]T, error) {
	list := []T{}
	for k, v := range r.Bucket(bucket).Each(prefix) {
		if err := r.Stopped(len(list)); err != nil {
			return nil, err
		}
		value, err := open(k, v)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}
