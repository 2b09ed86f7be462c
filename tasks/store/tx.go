package store

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Tx is one write transaction of the committer.
//
// Changes run in it one after another, and each sees the ones before it. A change
// decides first and writes then: once it has written it cannot be undone alone, and
// if it fails after that the whole transaction is given up.
type Tx struct {
	Reader
	db      *DB
	id      int // bbolt's number of this transaction
	now     time.Time
	counts  counts
	digest  uint64   // of the store with this transaction's writes
	puts    int      // writes so far
	failed  error    // error of the first write that failed
	spoiled bool     // a change failed after its first write
	wrote   bool     // there are new events
	loose   []string // payloads that lost a reference
	dropped []string // those of them without references; set by finish
	changed []uint64 // numbers of the records of Options.Followed that were written
}

// begin reads the clock once, so that all records of one commit have the same time.
func (db *DB) begin(tx *bolt.Tx) *Tx {
	t := &Tx{
		Reader: Reader{tx: tx, blobs: db.opts.Blobs, stop: func() error { return nil }},
		db:     db,
		id:     tx.ID(),
		now:    db.opts.Now().UTC().Round(0),
		digest: db.digest,
	}
	for _, name := range append([]string{OutboxBucket}, db.opts.Rising...) {
		// Their keys only rise, so pages may be fuller: Open reads half as many.
		t.Bucket(name).bolt.FillPercent = 0.9
	}
	db.record.begin(t.id, t.digest)
	return t
}

// Now returns the time for all records of this transaction.
func (t *Tx) Now() time.Time { return t.now }

// counts are the counters of a transaction. A counter is read when it is first used
// and written once, at the end.
type counts struct {
	now, before [counterKinds]uint64
	known       [counterKinds]bool
}

// Count returns the last number that was assigned, including this transaction.
func (t *Tx) Count(c Counter) uint64 {
	if !t.counts.known[c] {
		n := t.Reader.Count(c)
		t.counts.now[c], t.counts.before[c], t.counts.known[c] = n, n, true
	}
	return t.counts.now[c]
}

// Next assigns the next number. Numbers are never reused, or an old message could
// pass for a new one.
func (t *Tx) Next(c Counter) uint64 {
	t.Raise(c, t.Count(c)+1)
	return t.counts.now[c]
}

// Raise makes sure that no number up to n is assigned any more.
func (t *Tx) Raise(c Counter, n uint64) { t.counts.now[c] = max(t.Count(c), n) }

// apply runs one change. It returns an error only if the transaction must be given
// up.
func (t *Tx) apply(c *Job) error {
	before, counts := t.puts, t.counts
	c.err = t.protect(c)
	if c.err == nil {
		c.err = t.failed
	}
	if c.err == nil {
		return nil
	}
	if t.puts != before || t.failed != nil {
		t.spoiled = true
		return c.err
	}
	t.counts = counts
	return nil
}

// protect turns a panic in a change into that change's error.
func (t *Tx) protect(c *Job) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage, string, interface{ Addr() uintptr }: // damage, panics of bbolt, and faults
			err = fmt.Errorf("%s: %w", c.Op, t.db.recovered("reading it", r))
		default:
			err = fmt.Errorf("%s: internal error: %v\n%s", c.Op, r, debug.Stack())
		}
	}()
	return c.run(t)
}

// finish writes the counters and finds the payloads that are no longer needed.
func (t *Tx) finish() error {
	if t.puts == 0 && t.counts.now == t.counts.before {
		return errNothing
	}
	for c := range counterKinds {
		if n := t.counts.now[c]; n != t.counts.before[c] {
			t.Put(bucketMeta, c.key(), NumKey(n))
		}
	}
	t.Put(bucketMeta, []byte(keyDigest), digestValue(t.id, t.digest))
	refs := t.Bucket(bucketRefs)
	for _, name := range t.loose {
		if !refs.Any(NameKey(name)) {
			t.dropped = append(t.dropped, name)
		}
	}
	t.db.changes.add(uint64(t.id), t.changed)
	return t.failed
}

// Fail gives up the transaction. Later writes go on, and apply checks once, so
// callers need not check each write.
func (t *Tx) Fail(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// Put stores a value. On a failure it calls Fail.
func (t *Tx) Put(bucket string, key, value []byte) {
	t.puts++
	t.follow(bucket, key)
	if value == nil {
		value = []byte{} // nil would delete the key
	}
	value = seal(bucket, key, value)
	t.updateDigest(bucket, key, value)
	t.db.record.entry(bucket, key, value)
	if err := t.Bucket(bucket).bolt.Put(key, value); err != nil {
		t.Fail(fmt.Errorf("write to %s: %w", bucket, err))
	}
}

// Delete removes an entry, if it is there.
func (t *Tx) Delete(bucket string, key []byte) {
	t.puts++
	t.follow(bucket, key)
	t.updateDigest(bucket, key, nil)
	t.db.record.entry(bucket, key, nil)
	if err := t.Bucket(bucket).bolt.Delete(key); err != nil {
		t.Fail(fmt.Errorf("delete from %s: %w", bucket, err))
	}
}

// Mark adds a key to an index, or removes it.
func (t *Tx) Mark(bucket string, key []byte, in bool) {
	if in {
		t.Put(bucket, key, []byte{})
	} else {
		t.Delete(bucket, key)
	}
}

// Place is where a record is stored.
type Place struct {
	Bucket string
	Key    []byte
}

// owner returns the part of a key in bucketRefs that names the record.
func (p Place) owner() []byte { return append(NameKey(p.Bucket), p.Key...) }

// Store puts a record and records which payload files it needs; had are those that
// the previous record in this place needed.
func (t *Tx) Store(p Place, r any, need, had []BlobRef) {
	t.Put(p.Bucket, p.Key, t.Encode(r))
	t.Refer(p, need, had)
}

// Encode encodes a record as JSON.
func (t *Tx) Encode(r any) []byte {
	data, err := json.Marshal(r)
	if err != nil {
		t.Fail(fmt.Errorf("encode %T: %w", r, err))
	}
	return data
}

// Erase deletes a record that needed these payload files.
func (t *Tx) Erase(p Place, had []BlobRef) {
	t.Delete(p.Bucket, p.Key)
	t.Refer(p, nil, had)
}

// Refer changes the references of one record from had to need. Files that lose a
// reference are checked at the end of the transaction: a later change in it may need
// them again.
func (t *Tx) Refer(p Place, need, had []BlobRef) {
	owner := p.owner()
	for _, ref := range had {
		t.loose = append(t.loose, ref.Name)
		t.Delete(bucketRefs, NameKey(ref.Name, owner...))
	}
	for _, ref := range need {
		t.Put(bucketRefs, NameKey(ref.Name, owner...), []byte{})
	}
}

// Add adds delta to the number under a key; at 0 the key is deleted.
func (t *Tx) Add(bucket string, key []byte, delta int) {
	n := LastNum(t.Bucket(bucket).Get(key)) + uint64(delta)
	if n == 0 {
		t.Delete(bucket, key)
	} else {
		t.Put(bucket, key, NumKey(n))
	}
}
