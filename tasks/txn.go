package tasks

import (
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
	digest  uint64        // of what is stored, with this transaction's writes
	record  *commitRecord // for the log of commits; nil: there is none
	puts    int           // writes so far
	failed  error         // of the first write that did not work
	spoiled bool          // a change failed after its first write
	wrote   bool          // there are new events
	loose   []string      // payloads that lost a reference
	dropped []string      // those of them that have none left; set by finish
}

// counters are the numbers that only rise. They are read once for a
// transaction and written once at its end.
type counters struct {
	task  uint64 // highest task id given out: the high-water mark
	event uint64 // last event id
	merge uint64 // last merge id
	mail  uint64 // last mail sequence number
	// request is how many requests were closed, asked the highest number given out.
	request, asked uint64
}

// byName gives the counters by their keys in bucketMeta.
func (c *counters) byName() map[string]*uint64 {
	return map[string]*uint64{"task": &c.task, "event": &c.event, "merge": &c.merge, "mail": &c.mail,
		"request": &c.request,
		"asked":   &c.asked}
}

// readCounters finds where the numbering had come to. Numbers are never used
// twice, or an old message could pass for a new one.
func readCounters(meta bucket) counters {
	var c counters
	for name, n := range c.byName() {
		*n = lastNum(meta.Get([]byte(name)))
	}
	return c
}

// begin reads the clock once, so that all records of one commit agree.
func (s *Store) begin(tx *bolt.Tx) *txn {
	t := &txn{
		reader: reader{tx: tx, files: s.blobs},
		id:     tx.ID(),
		now:    s.opts.Now().UTC().Round(0),
		unread: s.opts.MaxUnread,
	}
	for _, name := range []string{bucketTasks, bucketReady, bucketOutbox} {
		// Their keys rise, so pages may be filled: half as many to read in Open.
		t.bucket(name).FillPercent = 0.9
	}
	t.counts = readCounters(t.bucket(bucketMeta))
	t.loaded = t.counts
	t.digest = s.digest
	t.record = s.record
	t.record.begin(t.id, t.digest)
	return t
}

// apply runs one change. It fails only when the transaction must be given up.
func (t *txn) apply(c *job) error {
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
func (t *txn) protect(c *job) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = fmt.Errorf("%s: %w", c.op, r)
		case string, interface{ Addr() uintptr }: // of bbolt, and a fault
			err = fmt.Errorf("%s: %w", c.op, recovered("reading it", r))
		default:
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
		if *n != *was[name] {
			t.put(bucketMeta, []byte(name), numKey(*n))
		}
	}
	t.put(bucketMeta, []byte(keyDigest), digestValue(t.id, t.digest))
	refs := t.bucket(bucketRefs)
	for _, name := range t.loose {
		if !anyKey(refs, nameKey(name)) {
			t.dropped = append(t.dropped, name)
		}
	}
	return t.failed
}

// fail gives up the transaction. Writing goes on as if nothing had happened,
// and apply looks once: what follows a write need not ask whether it worked.
func (t *txn) fail(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// put remembers the first failure and goes on: the commit looks once, at the end,
// and a hundred callers need not.
func (t *txn) put(bucket string, key, value []byte) {
	t.puts++
	if value == nil {
		value = []byte{} // an entry all the same
	}
	value = seal(bucket, key, value)
	t.account(bucket, key, value)
	t.record.entry(bucket, key, value)
	if err := t.bucket(bucket).Put(key, value); err != nil {
		t.fail(fmt.Errorf("write to %s: %w", bucket, err))
	}
}

// del is put for what goes.
func (t *txn) del(bucket string, key []byte) {
	t.puts++
	t.account(bucket, key, nil)
	t.record.entry(bucket, key, nil)
	if err := t.bucket(bucket).Delete(key); err != nil {
		t.fail(fmt.Errorf("delete from %s: %w", bucket, err))
	}
}

// mark puts a key into an index, or takes it out.
func (t *txn) mark(bucket string, key []byte, in bool) {
	if in {
		t.put(bucket, key, []byte{})
	} else {
		t.del(bucket, key)
	}
}

// place is where a record stands.
type place struct {
	bucket string
	key    []byte
}

// owner is the part of a key in bucketRefs that names the record.
func (p place) owner() []byte { return append(nameKey(p.bucket), p.key...) }

// store puts a record and notes which payload files it needs from now on; had
// are those that the record in this place needed before.
func (t *txn) store(p place, r any, need, had []blobRef) {
	t.put(p.bucket, p.key, t.encode(r))
	t.refer(p, need, had)
}

// encode writes a record as JSON.
func (t *txn) encode(r any) []byte {
	data, err := json.Marshal(r)
	if err != nil {
		t.fail(fmt.Errorf("encode %T: %w", r, err))
	}
	return data
}

// erase deletes a record that needed these payload files.
func (t *txn) erase(p place, had []blobRef) {
	t.del(p.bucket, p.key)
	t.refer(p, nil, had)
}

// refer changes the references of one record from had to need. Files that lose
// one are looked at when the transaction is complete: a later change in it may
// need them again.
func (t *txn) refer(p place, need, had []blobRef) {
	owner := p.owner()
	for _, ref := range had {
		t.loose = append(t.loose, ref.Name)
		t.del(bucketRefs, nameKey(ref.Name, owner...))
	}
	for _, ref := range need {
		t.put(bucketRefs, nameKey(ref.Name, owner...), []byte{})
	}
}

// add changes a number that stands under a key; at 0 the key goes.
func (t *txn) add(bucket string, key []byte, delta int) {
	n := lastNum(t.bucket(bucket).Get(key)) + uint64(delta)
	if n == 0 {
		t.del(bucket, key)
	} else {
		t.put(bucket, key, numKey(n))
	}
}
