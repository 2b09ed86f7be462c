package tasks

import (
	"bytes"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// save writes a task and updates the indexes. was is the stored record, nil for a new
// task. If the status changed, the caller then calls unblock or block for the
// dependents.
func (t *txn) save(was, rec *taskRecord) {
	t.link(was, rec)
	rec.Unchanged = rec.Unchanged && rec.Status == Completed
	if rec.Status == InProgress && (was == nil || was.Status != InProgress) {
		rec.Begun = rec.Updated
	}
	stored := *rec
	stored.Blocks = nil
	var had []store.BlobRef
	if was != nil {
		had = was.Files.Blobs()
	}
	t.tx.Store(rec.place(), &stored, rec.Files.Blobs(), had)
	t.indexOwner(was, rec)
	t.indexReady(rec)
	if rec.Status == Completed && was != nil && was.Status != Completed && rec.Owner != "" {
		actors.Finish(t.tx, rec.Owner)
	}
}

// link adds index entries for new blockers and removes those of former ones.
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
		blocker, _ := store.ParseID(b)
		t.tx.Mark(bucketDeps, store.PairKey(blocker, id), true)
		if !t.completed(blocker) {
			t.tx.Mark(bucketWaits, store.PairKey(id, blocker), true)
		}
	}
}

// missing returns the elements of list that are not in other.
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

// completed reports whether a blocker is completed. A blocker that is not stored yet
// comes later in the same Add; that all blockers exist was checked before.
func (t *txn) completed(id uint64) bool {
	data := t.Bucket(bucketTasks).Get(store.NumKey(id))
	if data == nil {
		return false
	}
	rec, err := decodeTask("task "+store.FormatID(id), data)
	if err != nil {
		t.tx.Fail(err)
		return false
	}
	return rec.Status == Completed
}

// unlink removes the index entries by which a task waits for blocker.
func (t *txn) unlink(id uint64, blocker string) {
	b, _ := store.ParseID(blocker)
	t.tx.Mark(bucketDeps, store.PairKey(b, id), false)
	t.tx.Mark(bucketWaits, store.PairKey(id, b), false)
}

// ownerKey returns a task's key in bucketOwner, or nil if it has none.
func (r *taskRecord) ownerKey() []byte {
	if r == nil || r.Owner == "" || !r.Status.open() {
		return nil
	}
	return store.NameNumKey(r.Owner, r.number())
}

// progressKey returns a task's key in bucketProgress, or nil if it has none.
func (r *taskRecord) progressKey() []byte {
	if r == nil || r.Status != InProgress {
		return nil
	}
	return store.NameNumKey(r.Owner, r.number())
}

// indexOwner updates the indexes by owner; rec is nil for a task that is removed.
func (t *txn) indexOwner(was, rec *taskRecord) {
	t.move(bucketOwner, was.ownerKey(), rec.ownerKey())
	t.move(bucketProgress, was.progressKey(), rec.progressKey())
}

// move replaces a key of an index; nil means no key.
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

// claimableNow reports whether any member may claim the task: it belongs in
// bucketReady.
func (r reader) claimableNow(rec *taskRecord) bool {
	return rec.Status == Pending && rec.Owner == "" && !r.Bucket(bucketWaits).Any(store.NumKey(rec.number()))
}

// indexReady adds a task to the ready index or removes it. It writes only if the
// index differs, because most changes do not affect it.
func (t *txn) indexReady(rec *taskRecord) {
	key := store.NumKey(rec.number())
	want := t.claimableNow(rec)
	if have := t.Bucket(bucketReady).Get(key) != nil; have != want {
		t.tx.Mark(bucketReady, key, want)
	}
}

// unblock removes a blocker that is now completed or about to be deleted from the
// tasks that wait for it, and tells the owners of those that have no other blocker.
func (t *txn) unblock(a actors.Actor, id string) {
	blocker, _ := store.ParseID(id)
	waits := t.Bucket(bucketWaits)
	for _, dependent := range t.Bucket(bucketDeps).Numbers(store.NumKey(blocker), 0) {
		key := store.PairKey(dependent, blocker)
		if waits.Get(key) == nil {
			continue
		}
		t.tx.Mark(bucketWaits, key, false)
		if !waits.Any(store.NumKey(dependent)) {
			t.freed(a, store.FormatID(dependent))
		}
	}
}

// freed handles a task that has just lost its last blocker.
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

// block makes the dependents of a reopened task wait again.
func (t *txn) block(id string) {
	blocker, _ := store.ParseID(id)
	for _, dependent := range t.Bucket(bucketDeps).Numbers(store.NumKey(blocker), 0) {
		t.tx.Mark(bucketWaits, store.PairKey(dependent, blocker), true)
		if t.Bucket(bucketReady).Get(store.NumKey(dependent)) != nil {
			t.tx.Mark(bucketReady, store.NumKey(dependent), false)
		}
	}
}

// revise changes the blockers of another task as a side effect of a change. If that
// task cannot be read, the transaction fails.
func (t *txn) revise(a actors.Actor, id string, blockers func([]string) []string) {
	was, err := t.load(id)
	if err != nil {
		t.tx.Fail(err)
		return
	}
	rec := t.next(was)
	rec.BlockedBy = blockers(rec.BlockedBy)
	t.save(was, rec)
	t.emit(a, changeRecord{Op: Updated, Task: rec, Fields: []string{"blockedBy"}})
}
