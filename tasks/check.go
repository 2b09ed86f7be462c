package tasks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
)

// Check reads everything in the store and reports what breaks an invariant:
//
//   - every record can be read and stands under its own key;
//   - ids and sequence numbers lie below their counters;
//   - a task in progress has an owner, and no task waits for itself;
//   - dependencies exist, and blocks mirrors blockedBy;
//   - the indexes hold exactly the entries that follow from the tasks;
//   - mailboxes, their counts and their ids agree, in order of sending;
//   - every payload file that a record needs exists, is complete, and is counted;
//   - the stored bytes are the committed ones.
//
// Check joins all faults into one error that wraps ErrCorrupt. It holds one read
// transaction and keeps the tasks in memory, so it is for tests, the doctor and the
// start of a team, not for every turn.
func (s *Store) Check(ctx context.Context) error { return s.db.Check(ctx, indexNames(), walks()...) }

// walks returns the checks of all records. Tasks come before the records that refer
// to them.
func walks() []store.Walk {
	w := &taskWalk{}
	return []store.Walk{
		w.readTasks, w.checkTasks, w.checkGraph, w.checkLosses, mail.Check, actors.CheckMembers, checkOutbox,
		actors.CheckReceipts[receiptRecord], checkValues, requests.CheckVerdicts, checkMerges, requests.Check, mail.CheckNotes,
	}
}

// taskWalk holds the tasks that a check has read.
type taskWalk struct {
	tasks map[uint64]*taskRecord
}

// readTasks decodes both task buckets and keeps the confirmed tasks.
//
// A record that cannot be read or stands under a wrong key is reported and left out, so
// that later checks do not report its consequences as well.
func (w *taskWalk) readTasks(c *store.Checker) {
	w.tasks = map[uint64]*taskRecord{}
	last := c.Count(store.TaskCounter)
	for _, bucket := range []string{bucketTasks, bucketProposed} {
		for k, v := range c.Bucket(bucket).Each(nil) {
			rec, err := decodeTask(fmt.Sprintf("%s %x", bucket, k), v)
			switch {
			case err != nil:
				c.Fault("%v", err)
				continue
			case len(k) != 8 || rec.ID != store.FormatID(store.LastNum(k)):
				c.Fault("%s: key %x holds task %q", bucket, k, rec.ID)
				continue
			case store.LastNum(k) > last:
				c.Fault("task %s is above the high-water mark %d", rec.ID, last)
			case (rec.Status == Proposed) != (bucket == bucketProposed):
				c.Fault("task %s with status %s is in bucket %s", rec.ID, rec.Status, bucket)
			}
			c.Needs(store.Place{Bucket: bucket, Key: k}, rec.Files.Blobs())
			if bucket == bucketTasks {
				w.tasks[store.LastNum(k)] = rec
			} else if c.Bucket(bucketTasks).Get(k) != nil {
				c.Fault("task %s is both proposed and confirmed", rec.ID)
			}
		}
	}
}

// checkTasks checks each task and records which index entries must exist for it.
func (w *taskWalk) checkTasks(c *store.Checker) {
	for _, n := range slices.Sorted(maps.Keys(w.tasks)) {
		rec := w.tasks[n]
		if !rec.Status.open() && rec.Status != Completed {
			c.Fault("task %s has status %q", rec.ID, rec.Status)
		}
		if rec.Status == InProgress && rec.Owner == "" {
			c.Fault("task %s is in progress and has no owner", rec.ID)
		}
		// Blocks is computed from the other tasks when a task is read. A stored one could
		// contradict them.
		if rec.Version == 0 || len(rec.Blocks) > 0 {
			c.Fault("task %s is stored with version %d and blocks %v", rec.ID, rec.Version, rec.Blocks)
		}
		if waits := w.checkBlockers(c, rec); rec.Status == Pending && rec.Owner == "" && !waits {
			c.Expect(bucketReady, store.NumKey(n))
		}
		if key := rec.ownerKey(); key != nil {
			c.Expect(bucketOwner, key)
		}
		if key := rec.progressKey(); key != nil {
			c.Expect(bucketProgress, key)
		}
	}
}

// checkBlockers checks the blockers of a task and reports whether one is still open.
func (w *taskWalk) checkBlockers(c *store.Checker, rec *taskRecord) (waits bool) {
	seen := map[string]bool{}
	for _, id := range rec.BlockedBy {
		b, ok := store.ParseID(id)
		blocker := w.tasks[b]
		if !ok || blocker == nil {
			c.Fault("task %s waits for %q, which is no task", rec.ID, id)
			continue
		}
		if seen[id] {
			c.Fault("task %s names blocker %s twice", rec.ID, id)
		}
		seen[id] = true
		c.Expect(bucketDeps, store.PairKey(b, rec.number()))
		if blocker.Status != Completed {
			waits = true
			c.Expect(bucketWaits, store.PairKey(rec.number(), b))
		}
	}
	return waits
}

// checkGraph looks for cycles in the tasks themselves, not in the index that changes
// use.
func (w *taskWalk) checkGraph(c *store.Checker) {
	order := store.FormatIDs(slices.Sorted(maps.Keys(w.tasks)))
	blockers := func(id string) []string {
		n, _ := store.ParseID(id)
		if rec := w.tasks[n]; rec != nil {
			return rec.BlockedBy
		}
		return nil
	}
	if cycle := findCycle(order, blockers); cycle != nil {
		slices.Reverse(cycle)
		c.Fault("%v", cycleError(cycle))
	}
}

// checkValues decodes the values that Put stored.
func checkValues(c *store.Checker) {
	store.CheckAll(c, bucketValues, "value %s", func(k []byte, rec *valueRecord) {
		c.Needs(store.Place{Bucket: bucketValues, Key: k}, rec.Files.Blobs())
	})
}
