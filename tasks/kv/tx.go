package kv

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Tx is one write transaction of the committer.
//
// Changes run in it one after another and each sees the ones before it. A
// change decides first and writes then: once it has written it cannot be taken
// back alone, and if it fails after that the whole transaction is given up.
type Tx struct {
	Reader
	db      *DB
	id      int // bbolt's number of this transaction
	now     time.Time
	counts  counts
	digest  uint64   // of what is stored, with this transaction's writes
	puts    int      // writes so far
	failed  error    // of the first write that did not work
	spoiled bool     // a change failed after its first write
	wrote   bool     // there are new events
	loose   []string // payloads that lost a reference
	dropped []string // those of them that have none left; set by finish
}

// begin reads the clock once, so that all records of one commit agree.
func (db *DB) begin(tx *bolt.Tx) *Tx {
	t := &Tx{
		Reader: Reader{tx: tx, blobs: db.opts.Blobs, stop: func() error { return nil }},
		db:     db,
		id:     tx.ID(),
		now:    db.opts.Now().UTC().Round(0),
		digest: db.digest,
	}
	for _, name := range append([]string{OutboxBucket}, db.opts.Rising...) {
		// Their keys rise, so pages may be filled: half as many to read in Open.
		t.Bucket(name).bolt.FillPercent = 0.9
	}
	db.record.begin(t.id, t.digest)
	return t
}

// Now is the time that all records of this transaction bear.
func (t *Tx) Now() time.Time { return t.now }

// counts are the counters of a transaction. They are read when they are first asked for,
// and written once at its end.
type counts struct {
	now, before [counterKinds]uint64
	known       [counterKinds]bool
}

// Count gives the last number that was given out, with those of this
// transaction.
func (t *Tx) Count(c Counter) uint64 {
	if !t.counts.known[c] {
		n := t.Reader.Count(c)
		t.counts.now[c], t.counts.before[c], t.counts.known[c] = n, n, true
	}
	return t.counts.now[c]
}

// Next gives out the next number. Numbers are never used twice, or an old
// message could pass for a new one.
func (t *Tx) Next(c Counter) uint64 {
	t.Raise(c, t.Count(c)+1)
	return t.counts.now[c]
}

// Raise makes sure that no number up to n is given out any more.
func (t *Tx) Raise(c Counter, n uint64) { t.counts.now[c] = max(t.Count(c), n) }

// apply runs one change. It fails only when the transaction must be given up.
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
		case damage, string, interface{ Addr() uintptr }: // our own, of bbolt, and a fault
			err = fmt.Errorf("%s: %w", c.Op, t.db.recovered("reading it", r))
		default:
			err = fmt.Errorf("%s: internal error: %v\n%s", c.Op, r, debug.Stack())
		}
	}()
	return c.run(t)
}

// finish writes the counters and finds the payloads nobody needs any more.
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
	return t.failed
}

// Fail gives up the transaction. Writing goes on as if nothing had happened,
// and apply looks once: what follows a write need not ask whether it worked.
func (t *Tx) Fail(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// Put stores a value. It remembers the first failure and goes on: the commit
// looks once, at the end, and a hundred callers need not.
func (t *Tx) Put(bucket string, key, value []byte) {
	t.puts++
	if value == nil {
		value = []byte{} // an entry all the same
	}
	value = seal(bucket, key, value)
	t.account(bucket, key, value)
	t.db.record.entry(bucket, key, value)
	if err := t.Bucket(bucket).bolt.Put(key, value); err != nil {
		t.Fail(fmt.Errorf("write to %s: %w", bucket, err))
	}
}

// Delete removes an entry, if it is there.
func (t *Tx) Delete(bucket string, key []byte) {
	t.puts++
	t.account(bucket, key, nil)
	t.db.record.entry(bucket, key, nil)
	if err := t.Bucket(bucket).bolt.Delete(key); err != nil {
		t.Fail(fmt.Errorf("delete from %s: %w", bucket, err))
	}
}

// Mark puts a key into an index, or takes it out.
func (t *Tx) Mark(bucket string, key []byte, in bool) {
	if in {
		t.Put(bucket, key, []byte{})
	} else {
		t.Delete(bucket, key)
	}
}

// Place is where a record stands.
type Place struct {
	Bucket string
	Key    []byte
}

// owner is the part of a key in bucketRefs that names the record.
func (p Place) owner() []byte { return append(NameKey(p.Bucket), p.Key...) }

// Store puts a record and notes which payload files it needs from now on; had
// are those that the record in this place needed before.
func (t *Tx) Store(p Place, r any, need, had []BlobRef) {
	t.Put(p.Bucket, p.Key, t.Encode(r))
	t.Refer(p, need, had)
}

// Encode writes a record as JSON.
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

// Refer changes the references of one record from had to need. Files that lose
// one are looked at when the transaction is complete: a later change in it may
// need them again.
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

// Add changes a number that stands under a key; at 0 the key goes.
func (t *Tx) Add(bucket string, key []byte, delta int) {
	n := LastNum(t.Bucket(bucket).Get(key)) + uint64(delta)
	if n == 0 {
		t.Delete(bucket, key)
	} else {
		t.Put(bucket, key, NumKey(n))
	}
}
