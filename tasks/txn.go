package tasks

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// txn is one write transaction of the committer.
//
// Changes run in it one after another and each sees the ones before it. A
// change decides first and writes then: once it has written it cannot be taken
// back alone, and if it fails after that the whole transaction is given up.
type txn struct {
	reader
	id      int // bbolt's number of this transaction
	now     time.Time
	unread  int // Options.MaxUnread
	counts  counters
	loaded  counters
	puts    int      // writes so far
	spoiled bool     // a change failed after its first write
	wrote   bool     // there are new events
	loose   []string // payloads that lost a reference
	dropped []string // those of them that have none left; set by finish
}

// counters are the numbers that only rise. They are read once for a
// transaction and written once at its end.
type counters struct {
	task  uint64 // highest task id given out: the high-water mark
	event uint64 // last event id
	mail  uint64 // last mail sequence number
}

func (c *counters) byName() map[string]*uint64 {
	return map[string]*uint64{"task": &c.task, "event": &c.event, "mail": &c.mail}
}

func readCounters(meta *bolt.Bucket) counters {
	var c counters
	for name, n := range c.byName() {
		*n = lastNum(meta.Get([]byte(name)))
	}
	return c
}

func (s *Store) begin(tx *bolt.Tx) *txn {
	t := &txn{
		reader: reader{tx: tx, files: s.blobs},
		id:     tx.ID(),
		now:    s.opts.Now().UTC().Round(0),
		unread: s.opts.MaxUnread,
	}
	t.counts = readCounters(t.bucket(bucketMeta))
	t.loaded = t.counts
	return t
}

// apply runs one change. It fails only when the transaction must be given up.
func (t *txn) apply(c *change) error {
	before, counts := t.puts, t.counts
	c.err = t.protect(c)
	if c.err == nil {
		return nil
	}
	if t.puts != before {
		t.spoiled = true
		return c.err
	}
	t.counts = counts
	return nil
}

// protect turns a panic in a change into that change's error.
func (t *txn) protect(c *change) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: internal error: %v\n%s", c.op, r, debug.Stack())
		}
	}()
	return c.run(t)
}

// finish writes the counters and finds the payloads nobody needs any more.
func (t *txn) finish() error {
	if t.puts == 0 {
		return errNothing
	}
	was := t.loaded.byName()
	for name, n := range t.counts.byName() {
		if *n == *was[name] {
			continue
		}
		if err := t.put(bucketMeta, []byte(name), numKey(*n)); err != nil {
			return err
		}
	}
	refs := t.bucket(bucketRefs)
	for _, name := range t.loose {
		if !anyKey(refs, nameKey(name)) {
			t.dropped = append(t.dropped, name)
		}
	}
	return nil
}

func (t *txn) put(bucket string, key, value []byte) error {
	t.puts++
	return t.bucket(bucket).Put(key, value)
}

func (t *txn) del(bucket string, key []byte) error {
	t.puts++
	return t.bucket(bucket).Delete(key)
}

// mark puts a key into an index, or takes it out.
func (t *txn) mark(bucket string, key []byte, in bool) error {
	if in {
		return t.put(bucket, key, []byte{})
	}
	return t.del(bucket, key)
}

// store puts a record and notes which payload files it needs from now on; had
// are those that the record under this key needed before.
func (t *txn) store(bucket string, key []byte, r held, had []blobRef) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode %s: %w", bucket, err)
	}
	if err := t.put(bucket, key, data); err != nil {
		return err
	}
	return t.refer(bucket, key, r.blobs(), had)
}

// erase deletes a record that needed these payload files.
func (t *txn) erase(bucket string, key []byte, had []blobRef) error {
	if err := t.del(bucket, key); err != nil {
		return err
	}
	return t.refer(bucket, key, nil, had)
}

// refer changes the references of one record from had to need.
func (t *txn) refer(bucket string, key []byte, need, had []blobRef) error {
	owner := append(nameKey(bucket), key...)
	for _, ref := range had {
		t.loose = append(t.loose, ref.Name)
		if err := t.del(bucketRefs, nameKey(ref.Name, owner...)); err != nil {
			return err
		}
	}
	for _, ref := range need {
		if err := t.put(bucketRefs, nameKey(ref.Name, owner...), []byte{}); err != nil {
			return err
		}
	}
	return nil
}

// add changes a number that stands under a key; at 0 the key goes.
func (t *txn) add(bucket string, key []byte, delta int) error {
	n := lastNum(t.bucket(bucket).Get(key)) + uint64(delta)
	if n == 0 {
		return t.del(bucket, key)
	}
	return t.put(bucket, key, binary.BigEndian.AppendUint64(nil, n))
}
