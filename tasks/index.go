package tasks

import (
	"bytes"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/kv"
)

// save writes a task and keeps the indexes in step. was is the record as it is
// stored now, nil for a new task. What a change of status means for the tasks
// that wait for this one is the caller's next step: unblock or block.
func (t *txn) save(was, rec *taskRecord) {
	t.link(was, rec)
	stored := *rec
	stored.Blocks = nil
	var had []kv.BlobRef
	if was != nil {
		had = was.Files.Blobs()
	}
	t.tx.Store(rec.place(), &stored, rec.Files.Blobs(), had)
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
		blocker, _ := kv.ParseID(b)
		t.tx.Mark(bucketDeps, kv.PairKey(blocker, id), true)
		if !t.completed(blocker) {
			t.tx.Mark(bucketWaits, kv.PairKey(id, blocker), true)
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
	data := t.Bucket(bucketTasks).Get(kv.NumKey(id))
	if data == nil {
		return false
	}
	rec, err := decodeTask("task "+kv.FormatID(id), data)
	if err != nil {
		t.tx.Fail(err)
		return false
	}
	return rec.Status == Completed
}

// unlink forgets that a task waits for blocker.
func (t *txn) unlink(id uint64, blocker string) {
	b, _ := kv.ParseID(blocker)
	t.tx.Mark(bucketDeps, kv.PairKey(b, id), false)
	t.tx.Mark(bucketWaits, kv.PairKey(id, b), false)
}

// ownerKey is a task's key in bucketOwner; nil when it stands not there.
func (r *taskRecord) ownerKey() []byte {
	if r == nil || r.Owner == "" || !r.Status.open() {
		return nil
	}
	return kv.NameNumKey(r.Owner, r.number())
}

// progressKey is a task's key in bucketProgress; nil when it stands not there.
func (r *taskRecord) progressKey() []byte {
	if r == nil || r.Status != InProgress {
		return nil
	}
	return kv.NameNumKey(r.Owner, r.number())
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
		t.tx.Mark(bucket, from, false)
	}
	if to != nil {
		t.tx.Mark(bucket, to, true)
	}
}

// claimableNow says whether anybody may claim the task: it belongs in bucketReady.
func (r reader) claimableNow(rec *taskRecord) bool {
	return rec.Status == Pending && rec.Owner == "" && !r.Bucket(bucketWaits).Any(kv.NumKey(rec.number()))
}

// indexReady puts a task among those that anybody may claim, or takes it out.
// It writes only where there is a difference, because most changes make none.
func (t *txn) indexReady(rec *taskRecord) {
	key := kv.NumKey(rec.number())
	want := t.claimableNow(rec)
	if have := t.Bucket(bucketReady).Get(key) != nil; have != want {
		t.tx.Mark(bucketReady, key, want)
	}
}

// unblock lets the tasks go that waited for one which is completed now or
// about to be deleted, and tells the owners of those that wait no more.
func (t *txn) unblock(a actors.Actor, id string) {
	blocker, _ := kv.ParseID(id)
	waits := t.Bucket(bucketWaits)
	for _, dependent := range t.Bucket(bucketDeps).Numbers(kv.NumKey(blocker), 0) {
		key := kv.PairKey(dependent, blocker)
		if waits.Get(key) == nil {
			continue
		}
		t.tx.Mark(bucketWaits, key, false)
		if !waits.Any(kv.NumKey(dependent)) {
			t.freed(a, kv.FormatID(dependent))
		}
	}
}

// freed makes a task that has just lost its last blocker known.
func (t *txn) freed(a actors.Actor, id string) {
	rec, err := t.load(id)
	if err != nil {
		t.tx.Fail(err)
		return
	}
	t.indexReady(rec)
	if rec.Status == Pending {
		t.assign(a, rec, true)
	}
}

// block makes the tasks wait again that depend on one which was opened again.
func (t *txn) block(id string) {
	blocker, _ := kv.ParseID(id)
	for _, dependent := range t.Bucket(bucketDeps).Numbers(kv.NumKey(blocker), 0) {
		t.tx.Mark(bucketWaits, kv.PairKey(dependent, blocker), true)
		if t.Bucket(bucketReady).Get(kv.NumKey(dependent)) != nil {
			t.tx.Mark(bucketReady, kv.NumKey(dependent), false)
		}
	}
}

// revise changes one more task on the way of a change to another: its
// blockers. What cannot be read gives up the transaction.
func (t *txn) revise(a actors.Actor, id string, blockers func([]string) []string) {
	was, err := t.load(id)
	if err != nil {
		t.tx.Fail(err)
		return
	}
	rec := t.next(was)
	rec.BlockedBy = blockers(rec.BlockedBy)
	t.save(was, rec)
	t.tell(a, changeRecord{Op: Updated, Task: rec, Fields: []string{"blockedBy"}})
}
