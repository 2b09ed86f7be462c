package tasks

import (
	"bytes"
	"slices"
)

// save writes a task and keeps the indexes in step. was is the record as it is
// stored now, nil for a new task. What a change of status means for the tasks
// that wait for this one is the caller's next step: unblock or block.
func (t *txn) save(was, rec *taskRecord) {
	t.link(was, rec)
	stored := *rec
	stored.Blocks = nil
	var had []blobRef
	if was != nil {
		had = was.blobs()
	}
	t.store(rec.place(), &stored, rec.blobs(), had)
	t.indexOwner(was, rec)
	t.indexReady(rec)
}

// link notes new blockers of a task and forgets those it has no longer.
func (t *txn) link(was, rec *taskRecord) {
	var before []string
	if was != nil {
		before = was.BlockedBy
	}
	if slices.Equal(before, rec.BlockedBy) {
		return
	}
	id := rec.number()
	for _, b := range missing(before, rec.BlockedBy) {
		t.unlink(id, b)
	}
	for _, b := range missing(rec.BlockedBy, before) {
		blocker, _ := parseID(b)
		t.mark(bucketDeps, pairKey(blocker, id), true)
		if !t.completed(blocker) {
			t.mark(bucketWaits, pairKey(id, blocker), true)
		}
	}
}

// missing gives what of list is not in other.
func missing(list, other []string) []string {
	there := make(map[string]bool, len(other))
	for _, s := range other {
		there[s] = true
	}
	var out []string
	for _, s := range list {
		if !there[s] {
			out = append(out, s)
		}
	}
	return out
}

// completed says whether a blocker is. One that is not stored yet comes later
// in the same Add: that all blockers exist was made sure of before.
func (t *txn) completed(id uint64) bool {
	data := t.bucket(bucketTasks).Get(numKey(id))
	if data == nil {
		return false
	}
	rec, err := decodeTask("task "+formatID(id), data)
	if err != nil {
		t.fail(err)
		return false
	}
	return rec.Status == Completed
}

// unlink forgets that a task waits for blocker.
func (t *txn) unlink(id uint64, blocker string) {
	b, _ := parseID(blocker)
	t.mark(bucketDeps, pairKey(b, id), false)
	t.mark(bucketWaits, pairKey(id, b), false)
}

// ownerKey is a task's key in bucketOwner; nil when it stands not there.
func (r *taskRecord) ownerKey() []byte {
	if r == nil || r.Owner == "" || !r.Status.open() {
		return nil
	}
	return nameNumKey(r.Owner, r.number())
}

// progressKey is a task's key in bucketProgress; nil when it stands not there.
func (r *taskRecord) progressKey() []byte {
	if r == nil || r.Status != InProgress {
		return nil
	}
	return nameNumKey(r.Owner, r.number())
}

// indexOwner moves a task within the indexes by owner; rec is nil when it goes.
func (t *txn) indexOwner(was, rec *taskRecord) {
	t.move(bucketOwner, was.ownerKey(), rec.ownerKey())
	t.move(bucketProgress, was.progressKey(), rec.progressKey())
}

// move replaces a key of an index; nil is no key.
func (t *txn) move(bucket string, from, to []byte) {
	if bytes.Equal(from, to) {
		return
	}
	if from != nil {
		t.mark(bucket, from, false)
	}
	if to != nil {
		t.mark(bucket, to, true)
	}
}

// claimableNow says whether anybody may claim the task: it belongs in bucketReady.
func (r reader) claimableNow(rec *taskRecord) bool {
	return rec.Status == Pending && rec.Owner == "" && !anyKey(r.bucket(bucketWaits), numKey(rec.number()))
}

// indexReady puts a task among those that anybody may claim, or takes it out.
// It writes only where there is a difference, because most changes make none.
func (t *txn) indexReady(rec *taskRecord) {
	key := numKey(rec.number())
	want := t.claimableNow(rec)
	if have := t.bucket(bucketReady).Get(key) != nil; have != want {
		t.mark(bucketReady, key, want)
	}
}

// unblock lets the tasks go that waited for one which is completed now or
// about to be deleted, and tells the owners of those that wait no more.
func (t *txn) unblock(a Actor, id string) {
	blocker, _ := parseID(id)
	waits := t.bucket(bucketWaits)
	for _, dependent := range suffixes(t.bucket(bucketDeps), numKey(blocker), 0) {
		key := pairKey(dependent, blocker)
		if waits.Get(key) == nil {
			continue
		}
		t.mark(bucketWaits, key, false)
		if !anyKey(waits, numKey(dependent)) {
			t.freed(a, formatID(dependent))
		}
	}
}

// freed makes a task that has just lost its last blocker known.
func (t *txn) freed(a Actor, id string) {
	rec, err := t.load(id)
	if err != nil {
		t.fail(err)
		return
	}
	t.indexReady(rec)
	if rec.Status == Pending {
		t.assign(a, rec, true)
	}
}

// block makes the tasks wait again that depend on one which was opened again.
func (t *txn) block(id string) {
	blocker, _ := parseID(id)
	for _, dependent := range suffixes(t.bucket(bucketDeps), numKey(blocker), 0) {
		t.mark(bucketWaits, pairKey(dependent, blocker), true)
		if t.bucket(bucketReady).Get(numKey(dependent)) != nil {
			t.mark(bucketReady, numKey(dependent), false)
		}
	}
}

// revise changes one more task on the way of a change to another: its
// blockers. What cannot be read gives up the transaction.
func (t *txn) revise(a Actor, id string, blockers func([]string) []string) {
	was, err := t.load(id)
	if err != nil {
		t.fail(err)
		return
	}
	rec := t.next(was)
	rec.BlockedBy = blockers(rec.BlockedBy)
	t.save(was, rec)
	t.tell(a, changeRecord{Op: Updated, Task: rec, Fields: []string{"blockedBy"}})
}
