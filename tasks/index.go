package tasks

import (
	"bytes"
	"slices"
)

// save writes a task and keeps the indexes in step. was is the record as it is
// stored now, nil for a new task. What a change of status means for the tasks
// that wait for this one is the caller's next step: unblock or block.
func (t *txn) save(was, rec *taskRecord) error {
	if err := t.link(was, rec); err != nil {
		return err
	}
	stored := *rec
	stored.Blocks = nil
	var had []blobRef
	if was != nil {
		had = was.blobs()
	}
	if err := t.store(bucketTasks, numKey(rec.number()), &stored, had); err != nil {
		return err
	}
	if err := t.indexOwner(was, rec); err != nil {
		return err
	}
	return t.indexReady(rec)
}

// link notes new blockers of a task and forgets those it has no longer.
func (t *txn) link(was, rec *taskRecord) error {
	var before []string
	if was != nil {
		before = was.BlockedBy
	}
	if slices.Equal(before, rec.BlockedBy) {
		return nil
	}
	id := rec.number()
	for _, b := range missing(before, rec.BlockedBy) {
		if err := t.unlink(id, b); err != nil {
			return err
		}
	}
	for _, b := range missing(rec.BlockedBy, before) {
		blocker, _ := parseID(b)
		if err := t.mark(bucketDeps, pairKey(blocker, id), true); err != nil {
			return err
		}
		done, err := t.completed(blocker)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		if err := t.mark(bucketWaits, pairKey(id, blocker), true); err != nil {
			return err
		}
	}
	return nil
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
func (t *txn) completed(id uint64) (bool, error) {
	data := t.bucket(bucketTasks).Get(numKey(id))
	if data == nil {
		return false, nil
	}
	rec, err := decodeTask("task "+formatID(id), data)
	return err == nil && rec.Status == Completed, err
}

// unlink forgets that a task waits for blocker.
func (t *txn) unlink(id uint64, blocker string) error {
	b, _ := parseID(blocker)
	if err := t.mark(bucketDeps, pairKey(b, id), false); err != nil {
		return err
	}
	return t.mark(bucketWaits, pairKey(id, b), false)
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

func (t *txn) indexOwner(was, rec *taskRecord) error {
	if err := t.move(bucketOwner, was.ownerKey(), rec.ownerKey()); err != nil {
		return err
	}
	return t.move(bucketProgress, was.progressKey(), rec.progressKey())
}

// move replaces a key of an index; nil is no key.
func (t *txn) move(bucket string, from, to []byte) error {
	if bytes.Equal(from, to) {
		return nil
	}
	if from != nil {
		if err := t.mark(bucket, from, false); err != nil {
			return err
		}
	}
	if to == nil {
		return nil
	}
	return t.mark(bucket, to, true)
}

// claimableNow says whether anybody may claim the task: it belongs in bucketReady.
func (r reader) claimableNow(rec *taskRecord) bool {
	return rec.Status == Pending && rec.Owner == "" && !anyKey(r.bucket(bucketWaits), numKey(rec.number()))
}

func (t *txn) indexReady(rec *taskRecord) error {
	key := numKey(rec.number())
	want := t.claimableNow(rec)
	if have := t.bucket(bucketReady).Get(key) != nil; have == want {
		return nil
	}
	return t.mark(bucketReady, key, want)
}

// unblock lets the tasks go that waited for one which is completed now or
// about to be deleted, and tells the owners of those that wait no more.
func (t *txn) unblock(a Actor, id string) error {
	blocker, _ := parseID(id)
	for _, dependent := range suffixes(t.bucket(bucketDeps), numKey(blocker), 0) {
		key := pairKey(dependent, blocker)
		if t.bucket(bucketWaits).Get(key) == nil {
			continue
		}
		if err := t.mark(bucketWaits, key, false); err != nil {
			return err
		}
		if anyKey(t.bucket(bucketWaits), numKey(dependent)) {
			continue
		}
		if err := t.freed(a, formatID(dependent)); err != nil {
			return err
		}
	}
	return nil
}

// freed makes a task that has just lost its last blocker known.
func (t *txn) freed(a Actor, id string) error {
	rec, err := t.load(id)
	if err != nil {
		return err
	}
	if err := t.indexReady(rec); err != nil {
		return err
	}
	if rec.Status != Pending {
		return nil
	}
	return t.assign(a, rec, true)
}

// block makes the tasks wait again that depend on one which was opened again.
func (t *txn) block(id string) error {
	blocker, _ := parseID(id)
	for _, dependent := range suffixes(t.bucket(bucketDeps), numKey(blocker), 0) {
		if err := t.mark(bucketWaits, pairKey(dependent, blocker), true); err != nil {
			return err
		}
		if t.bucket(bucketReady).Get(numKey(dependent)) == nil {
			continue
		}
		if err := t.mark(bucketReady, numKey(dependent), false); err != nil {
			return err
		}
	}
	return nil
}
